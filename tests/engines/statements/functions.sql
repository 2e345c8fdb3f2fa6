-- greatest(weight, weight)
GREATEST(t."weight", t."weight");
GREATEST(t."weight", t."weight");
GREATEST(t.`weight`, t.`weight`);

-- least(weight, weight)
LEAST(t."weight", t."weight");
LEAST(t."weight", t."weight");
LEAST(t.`weight`, t.`weight`);

-- abs(weight)
ABS(t."weight");
ABS(t."weight");
ABS(t.`weight`);

-- sign(weight)
CAST(SIGN(t."weight") AS BIGINT);
CAST(SIGN(t."weight") AS BIGINT);
CAST(SIGNUM(NANVL(t.`weight`, CAST('0.0' AS DOUBLE))) AS BIGINT);

-- floor(weight)
FLOOR(t."weight");
FLOOR(t."weight");
(RINT(t.`weight`) - CAST((RINT(t.`weight`) > (t.`weight`)) AS DOUBLE));

-- ceil(weight)
CEIL(t."weight");
CEIL(t."weight");
(RINT(t.`weight`) + CAST((RINT(t.`weight`) < (t.`weight`)) AS DOUBLE));

-- round(weight, 2)
ROUND(t."weight", 2);
CASE WHEN ABS(t."weight") <= CAST('1.7976931348623156e+306' AS DOUBLE PRECISION) THEN TRUNC((t."weight" * CAST('100.0' AS DOUBLE PRECISION)) + (SIGN(t."weight" * CAST('100.0' AS DOUBLE PRECISION)) * CAST('0.49999999999999994' AS DOUBLE PRECISION))) / CAST('100.0' AS DOUBLE PRECISION) ELSE t."weight" END;
CASE WHEN ABS(ROUND((t.`weight`) * CAST('100.0' AS DOUBLE)) / CAST('100.0' AS DOUBLE)) <= CAST('1.7976931348623157e+308' AS DOUBLE) THEN ROUND((t.`weight`) * CAST('100.0' AS DOUBLE)) / CAST('100.0' AS DOUBLE) ELSE (t.`weight`) END;

-- sqrt(weight)
CASE WHEN t."weight" >= CAST('0.0' AS DOUBLE) THEN SQRT(t."weight") END;
CASE WHEN t."weight" >= CAST('0.0' AS DOUBLE PRECISION) THEN SQRT(t."weight") END;
CASE WHEN t.`weight` >= CAST('0.0' AS DOUBLE) THEN SQRT(t.`weight`) END;

-- ln(weight)
CASE WHEN t."weight" > CAST('0.0' AS DOUBLE) THEN LN(t."weight") END;
-- the function ln is not supported on PostgreSQL: the last digit of a logarithm differs between machines
-- the function ln is not supported on Spark: logarithms are rounded differently in the last digit

-- log2(weight)
CASE WHEN t."weight" > CAST('0.0' AS DOUBLE) THEN LOG2(t."weight") END;
-- the function log2 is not supported on PostgreSQL: the last digit of a logarithm differs between machines
-- the function log2 is not supported on Spark: logarithms are rounded differently in the last digit

-- log10(weight)
CASE WHEN t."weight" > CAST('0.0' AS DOUBLE) THEN LOG10(t."weight") END;
-- the function log10 is not supported on PostgreSQL: the last digit of a logarithm differs between machines
-- the function log10 is not supported on Spark: logarithms are rounded differently in the last digit

-- concat(weight, weight)
COALESCE(TRY_CAST(t."weight" AS TEXT), '') || COALESCE(TRY_CAST(t."weight" AS TEXT), '');
-- a cast from DOUBLE to TEXT is not supported on PostgreSQL: the engines do not write the same texts
-- a cast from DOUBLE to TEXT is not supported on Spark: the two engines write its digits differently

-- lower(name)
LOWER(t."name");
-- the function lower is not supported on PostgreSQL: the case of letters depends on the server's locale
-- the function lower is not supported on Spark: the two engines map the case of some letters differently

-- upper(name)
UPPER(t."name");
-- the function upper is not supported on PostgreSQL: the case of letters depends on the server's locale
-- the function upper is not supported on Spark: the two engines map the case of some letters differently

-- trim(name)
TRIM(t."name");
BTRIM(t."name", '                　');
TRIM(BOTH '                　' FROM t.`name`);

-- ltrim(name)
LTRIM(t."name");
LTRIM(t."name", '                　');
TRIM(LEADING '                　' FROM t.`name`);

-- rtrim(name)
RTRIM(t."name");
RTRIM(t."name", '                　');
TRIM(TRAILING '                　' FROM t.`name`);

-- replace(name, 'a', 'a')
REPLACE(t."name", 'a', 'a');
REPLACE(t."name", 'a', 'a');
REPLACE(t.`name`, 'a', 'a');

-- length(name)
LENGTH(t."name");
LENGTH(t."name");
CAST(CHAR_LENGTH(t.`name`) AS BIGINT);

-- substring(name, 2, 2)
SUBSTRING(t."name", 2, 2);
SUBSTR(t."name", 2, 2);
SUBSTRING(t.`name`, 2, 2);

-- left(name, 2)
LEFT(t."name", 2);
LEFT(t."name", 2);
LEFT(t.`name`, 2);

-- right(name, 2)
RIGHT(t."name", 2);
RIGHT(t."name", 2);
RIGHT(t.`name`, 2);

-- starts_with(name, name)
STARTS_WITH(t."name", t."name");
STARTS_WITH(t."name", t."name");
STARTSWITH(t.`name`, t.`name`);

-- ends_with(name, name)
ENDS_WITH(t."name", t."name");
((RIGHT(t."name", LENGTH(t."name")) COLLATE "C") = t."name");
ENDSWITH(t.`name`, t.`name`);

-- contains(name, name)
CONTAINS(t."name", t."name");
(STRPOS(t."name" COLLATE "C", t."name") > 0);
CONTAINS(t.`name`, t.`name`);

-- strpos(name, name)
STRPOS(t."name", t."name");
STRPOS(t."name" COLLATE "C", t."name");
CAST(INSTR(t.`name`, t.`name`) AS BIGINT);

-- date_trunc('minute', arrived)
DATE_TRUNC('minute', t."arrived");
DATE_TRUNC('minute', t."arrived");
CAST(DATE_TRUNC('MINUTE', CAST(CASE WHEN (t.`arrived`) >= CAST('-290308-12-22 00:00:00' AS TIMESTAMP_NTZ) THEN t.`arrived` END AS TIMESTAMP)) AS TIMESTAMP_NTZ);

-- date_part('year', arrived)
CAST(DATE_PART('year', t."arrived") AS BIGINT);
CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('year', t."arrived") AS BIGINT) + CASE WHEN CAST(DATE_PART('year', t."arrived") AS BIGINT) < 0 THEN 1 ELSE 0 END END AS BIGINT);
CAST(YEAR(t.`arrived`) AS BIGINT);

-- date_diff('minute', arrived, arrived)
DATE_DIFF('minute', TRY_CAST(t."arrived" AS TIMESTAMP), TRY_CAST(t."arrived" AS TIMESTAMP));
CASE WHEN ISFINITE(t."arrived") AND ISFINITE(t."arrived") THEN (CAST(DATE_PART('epoch', DATE_TRUNC('minute', t."arrived")) AS BIGINT) / 60) - (CAST(DATE_PART('epoch', DATE_TRUNC('minute', t."arrived")) AS BIGINT) / 60) END;
(((UNIX_SECONDS(CAST(t.`arrived` AS TIMESTAMP)) - PMOD(UNIX_SECONDS(CAST(t.`arrived` AS TIMESTAMP)), 60L)) DIV 60L) - ((UNIX_SECONDS(CAST(t.`arrived` AS TIMESTAMP)) - PMOD(UNIX_SECONDS(CAST(t.`arrived` AS TIMESTAMP)), 60L)) DIV 60L));

-- year(arrived)
CAST(DATE_PART('year', t."arrived") AS BIGINT);
CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('year', t."arrived") AS BIGINT) + CASE WHEN CAST(DATE_PART('year', t."arrived") AS BIGINT) < 0 THEN 1 ELSE 0 END END AS BIGINT);
CAST(YEAR(t.`arrived`) AS BIGINT);

-- quarter(arrived)
CAST(DATE_PART('quarter', t."arrived") AS BIGINT);
CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('quarter', t."arrived") AS BIGINT) END AS BIGINT);
CAST(QUARTER(t.`arrived`) AS BIGINT);

-- month(arrived)
CAST(DATE_PART('month', t."arrived") AS BIGINT);
CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT);
CAST(MONTH(t.`arrived`) AS BIGINT);

-- week(arrived)
CAST(DATE_PART('week', (CASE WHEN t."arrived" >= CAST('290000-01-01 (BC)' AS DATE) THEN t."arrived" END)) AS BIGINT);
CAST(CASE WHEN ISFINITE((CASE WHEN t."arrived" >= CAST('4714-11-24 BC' AS DATE) THEN t."arrived" END)) THEN CAST(DATE_PART('week', (CASE WHEN t."arrived" >= CAST('4714-11-24 BC' AS DATE) THEN t."arrived" END)) AS BIGINT) END AS BIGINT);
CAST(WEEKOFYEAR((CASE WHEN t.`arrived` >= CAST(CASE WHEN UNIX_DATE(CAST('-289999-01-01' AS DATE)) >= -106751991 AND UNIX_DATE(CAST('-289999-01-01' AS DATE)) <= 106751991 THEN CAST('-289999-01-01' AS DATE) END AS TIMESTAMP_NTZ) THEN t.`arrived` END)) AS BIGINT);

-- day(arrived)
CAST(DATE_PART('day', t."arrived") AS BIGINT);
CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('day', t."arrived") AS BIGINT) END AS BIGINT);
CAST(DAY(t.`arrived`) AS BIGINT);

-- dayofweek(arrived)
CAST(DATE_PART('dow', t."arrived") AS BIGINT);
CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) END AS BIGINT);
CAST(DAYOFWEEK(t.`arrived`) - 1 AS BIGINT);

-- isodow(arrived)
CAST(DATE_PART('isodow', t."arrived") AS BIGINT);
CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('isodow', t."arrived") AS BIGINT) END AS BIGINT);
CAST(WEEKDAY(t.`arrived`) + 1 AS BIGINT);

-- dayofyear(arrived)
CAST(DATE_PART('doy', t."arrived") AS BIGINT);
CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('doy', t."arrived") AS BIGINT) END AS BIGINT);
CAST(DAYOFYEAR(t.`arrived`) AS BIGINT);

-- hour(arrived)
CAST(DATE_PART('hour', t."arrived") AS BIGINT);
CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('hour', t."arrived") AS BIGINT) END AS BIGINT);
CAST(HOUR(t.`arrived`) AS BIGINT);

-- minute(arrived)
CAST(DATE_PART('minute', t."arrived") AS BIGINT);
CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('minute', t."arrived") AS BIGINT) END AS BIGINT);
CAST(MINUTE(t.`arrived`) AS BIGINT);

-- second(arrived)
CAST(DATE_PART('second', t."arrived") AS BIGINT);
CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(FLOOR(DATE_PART('second', t."arrived")) AS BIGINT) END AS BIGINT);
CAST(SECOND(t.`arrived`) AS BIGINT);

-- dayname(arrived)
CASE WHEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) = 0 THEN 'Sunday' WHEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) = 1 THEN 'Monday' WHEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) = 2 THEN 'Tuesday' WHEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) = 3 THEN 'Wednesday' WHEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) = 4 THEN 'Thursday' WHEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) = 5 THEN 'Friday' WHEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) = 6 THEN 'Saturday' END;
CASE WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) END AS BIGINT) = 0 THEN 'Sunday' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) END AS BIGINT) = 1 THEN 'Monday' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) END AS BIGINT) = 2 THEN 'Tuesday' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) END AS BIGINT) = 3 THEN 'Wednesday' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) END AS BIGINT) = 4 THEN 'Thursday' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) END AS BIGINT) = 5 THEN 'Friday' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('dow', t."arrived") AS BIGINT) END AS BIGINT) = 6 THEN 'Saturday' END;
CASE WHEN CAST(DAYOFWEEK(t.`arrived`) - 1 AS BIGINT) = 0L THEN 'Sunday' WHEN CAST(DAYOFWEEK(t.`arrived`) - 1 AS BIGINT) = 1L THEN 'Monday' WHEN CAST(DAYOFWEEK(t.`arrived`) - 1 AS BIGINT) = 2L THEN 'Tuesday' WHEN CAST(DAYOFWEEK(t.`arrived`) - 1 AS BIGINT) = 3L THEN 'Wednesday' WHEN CAST(DAYOFWEEK(t.`arrived`) - 1 AS BIGINT) = 4L THEN 'Thursday' WHEN CAST(DAYOFWEEK(t.`arrived`) - 1 AS BIGINT) = 5L THEN 'Friday' WHEN CAST(DAYOFWEEK(t.`arrived`) - 1 AS BIGINT) = 6L THEN 'Saturday' END;

-- monthname(arrived)
CASE WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 1 THEN 'January' WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 2 THEN 'February' WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 3 THEN 'March' WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 4 THEN 'April' WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 5 THEN 'May' WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 6 THEN 'June' WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 7 THEN 'July' WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 8 THEN 'August' WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 9 THEN 'September' WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 10 THEN 'October' WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 11 THEN 'November' WHEN CAST(DATE_PART('month', t."arrived") AS BIGINT) = 12 THEN 'December' END;
CASE WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 1 THEN 'January' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 2 THEN 'February' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 3 THEN 'March' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 4 THEN 'April' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 5 THEN 'May' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 6 THEN 'June' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 7 THEN 'July' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 8 THEN 'August' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 9 THEN 'September' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 10 THEN 'October' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 11 THEN 'November' WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) = 12 THEN 'December' END;
CASE WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 1L THEN 'January' WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 2L THEN 'February' WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 3L THEN 'March' WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 4L THEN 'April' WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 5L THEN 'May' WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 6L THEN 'June' WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 7L THEN 'July' WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 8L THEN 'August' WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 9L THEN 'September' WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 10L THEN 'October' WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 11L THEN 'November' WHEN CAST(MONTH(t.`arrived`) AS BIGINT) = 12L THEN 'December' END;

-- strftime(arrived, '%Y-%m-%d')
CASE WHEN CAST(DATE_PART('year', t."arrived") AS BIGINT) BETWEEN 0 AND 9999 THEN RIGHT('000' || TRY_CAST(CAST(DATE_PART('year', t."arrived") AS BIGINT) AS TEXT), 4) || '-' || RIGHT('0' || TRY_CAST(CAST(DATE_PART('month', t."arrived") AS BIGINT) AS TEXT), 2) || '-' || RIGHT('0' || TRY_CAST(CAST(DATE_PART('day', t."arrived") AS BIGINT) AS TEXT), 2) END;
CASE WHEN CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('year', t."arrived") AS BIGINT) + CASE WHEN CAST(DATE_PART('year', t."arrived") AS BIGINT) < 0 THEN 1 ELSE 0 END END AS BIGINT) BETWEEN 0 AND 9999 THEN (((RIGHT('000' || CAST(CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('year', t."arrived") AS BIGINT) + CASE WHEN CAST(DATE_PART('year', t."arrived") AS BIGINT) < 0 THEN 1 ELSE 0 END END AS BIGINT) AS TEXT), 4) || '-') || RIGHT('0' || CAST(CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('month', t."arrived") AS BIGINT) END AS BIGINT) AS TEXT), 2)) || '-') || RIGHT('0' || CAST(CAST(CASE WHEN ISFINITE(t."arrived") THEN CAST(DATE_PART('day', t."arrived") AS BIGINT) END AS BIGINT) AS TEXT), 2) END;
CASE WHEN CAST(YEAR(t.`arrived`) AS BIGINT) BETWEEN 0L AND 9999L THEN RIGHT('000' || CAST(CAST(YEAR(t.`arrived`) AS BIGINT) AS STRING), 4) || '-' || RIGHT('0' || CAST(CAST(MONTH(t.`arrived`) AS BIGINT) AS STRING), 2) || '-' || RIGHT('0' || CAST(CAST(DAY(t.`arrived`) AS BIGINT) AS STRING), 2) END;

-- epoch(arrived)
DATE_DIFF('second', TRY_CAST(CAST('1970-01-01 00:00:00' AS TIMESTAMP) AS TIMESTAMP), TRY_CAST(t."arrived" AS TIMESTAMP));
CASE WHEN ISFINITE(CAST(CAST('1970-01-01 00:00:00' AS TIMESTAMP) AS TIMESTAMP)) AND ISFINITE(t."arrived") THEN CAST(DATE_PART('epoch', DATE_TRUNC('second', t."arrived")) AS BIGINT) - CAST(DATE_PART('epoch', DATE_TRUNC('second', CAST(CAST('1970-01-01 00:00:00' AS TIMESTAMP) AS TIMESTAMP))) AS BIGINT) END;
(UNIX_SECONDS(CAST(t.`arrived` AS TIMESTAMP)) - UNIX_SECONDS(CAST(CAST('1970-01-01 00:00:00' AS TIMESTAMP_NTZ) AS TIMESTAMP)));
