"""Questions whose pages show everything that the console can draw."""

from __future__ import annotations

DOUBT = """\
SELECT disease, count(*) AS cases
FROM patients
GROUP BY disease
HAVING count(*) > 3000 OR (count(*) > 1000 AND avg(age) < 10)
WITH ACCURACY (on_exhausted = 'mark', epsilon = 0.1)"""
CURVE = """\
SELECT disease, count(*) AS cases FROM patients GROUP BY disease
HAVING count(*) > 12000 AND avg(age) > 1 WITH ACCURACY (epsilon = 0.1)"""
DAYS = """\
SELECT admitted, count(*) AS n FROM patients GROUP BY admitted
HAVING count(*) > 3000 WITH ACCURACY (on_exhausted = 'mark', epsilon = 0.1)"""
PAIRS = """\
SELECT ward, gender, count(*) AS n FROM patients GROUP BY ward, gender
WITH ACCURACY (epsilon = 0.1)"""
MANY = """\
SELECT disease, admitted, count(*) AS n FROM patients GROUP BY disease, admitted
WITH ACCURACY (epsilon = 0.1)"""
VALUES = """\
SELECT ward, count(*) AS patients, avg(age) AS age FROM patients GROUP BY ward
WITH ACCURACY (epsilon = 0.05)"""
NONE = """\
SELECT disease, count(*) AS n FROM patients GROUP BY disease HAVING count(*) > 90000
WITH ACCURACY (epsilon = 0.1)"""
BLOCKS = """\
WITH a AS (SELECT ward, count(*) AS n FROM patients GROUP BY ward WITH ACCURACY (epsilon = 0.05)),
b AS (SELECT ward, avg(age) AS age FROM patients GROUP BY ward WITH ACCURACY (epsilon = 0.05))
SELECT a.ward, n, age FROM a JOIN b ON a.ward = b.ward ORDER BY n DESC"""
LONG = """\
SELECT wards, count(*) AS n FROM patients GROUP BY ward HAVING avg(cost) > 100 AND count(*) > 10"""
DENIED = """\
SELECT disease, count(*) AS n FROM patients GROUP BY disease
HAVING median(age) > 60 WITH ACCURACY (epsilon = 0.02)"""
