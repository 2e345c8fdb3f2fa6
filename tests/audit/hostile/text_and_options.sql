-- Odd text, homoglyphs, comments, parameters; free releases and other budgets by options.
-- Each query is preceded by the error it must raise and a part of its message.
--! Refused: SELEC is not a query that can be answered
SELEC ward FROM patients
--! SqlError: there is nothing after SELECT
SELECT
--! SqlError: the query is empty
;
--! SqlError: the query is empty
--
--! SqlError: the query cannot be read: a quote or comment is
/*
--! SqlError: the query cannot be read: a quote or comment is
'
--! SqlError: the query cannot be read: a quote or comment is
"
--! SqlError: there is no table 'раtients' to query
SELECT ward FROM раtients GROUP BY ward HAVING count(*) > 0
--! SqlError: there is no column 'wаrd' to use
SELECT wаrd FROM patients GROUP BY wаrd HAVING count(*) > 0
--! SqlError: there is no table 'ｐatients' to query
SELECT ward FROM ｐatients GROUP BY ward HAVING count(*) > 0
--! SqlError: there is no column 'n\u200bote' to use
SELECT n​ote FROM patients GROUP BY ward HAVING count(*) > 0
--! SqlError: there is no column 'nоte' to use
SELECT ward FROM patients WHERE nоte = 'x' GROUP BY ward HAVING count(*) > 0
--! SqlError: there is no column 'note' to use
SELECT ward FROM patients WHERE disease = 'x' /* */ OR note = 'n' GROUP BY ward HAVING count(*) > 0
--! Refused: the expression RAWSTRING is not allowed here
SELECT ward FROM patients WHERE disease = $$ x $$ OR note = 'n' GROUP BY ward HAVING count(*) > 0
--! Refused: the expression BYTESTRING is not allowed here
SELECT ward FROM patients WHERE disease = E'\'' OR note = 'n' GROUP BY ward HAVING count(*) > 0
--! SqlError: there is no column 'note' to use
SELECT ward FROM patients WHERE disease = 'a'' OR note = ''n' || note GROUP BY ward HAVING count(*) > 0
--! SqlError: there is no column 'note' to use
SELECT ward FROM patients WHERE disease = 'x' -- ' 
 OR note = 'n' GROUP BY ward HAVING count(*) > 0
--! Refused: only ? parameters are supported
SELECT ward FROM patients WHERE disease = @x GROUP BY ward HAVING count(*) > 0
--! Refused: a named parameter is not allowed here
SELECT ward FROM patients WHERE disease = :name GROUP BY ward HAVING count(*) > 0
--! Refused: only ? parameters are supported
SELECT ward FROM patients WHERE disease = $1 GROUP BY ward HAVING count(*) > 0
--! SqlError: the query has more ? places than the 0
SELECT ward FROM patients WHERE disease = ? GROUP BY ward HAVING count(*) > 0
--! SqlError: GROUP BY 5 is not a column of the SELECT list
SELECT ward FROM patients GROUP BY 5 HAVING count(*) > 0
--! Refused: GROUP BY -1 reads no columns
SELECT ward FROM patients GROUP BY -1 HAVING count(*) > 0
--! SqlError: there is no column 'note' to use
SELECT ward FROM patients GROUP BY ward, note HAVING count(*) > 0
--! SqlError: two columns are named 'a'
SELECT ward AS a, disease AS a FROM patients GROUP BY ward, disease HAVING count(*) > 0
--! SqlError: a condition needs a boolean
SELECT ward FROM patients GROUP BY ward HAVING ward
--! SqlError: NULL is not a number
SELECT ward FROM patients GROUP BY ward HAVING count(*) > NULL
--! SqlError: 'x' is not a number
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 'x'
--! SqlError: both sides are the same aggregate
SELECT ward FROM patients GROUP BY ward HAVING count(*) = count(*)
--! Refused: the query has neither an aggregate nor GROUP BY
SELECT 1 FROM patients
--! SqlError: ward is neither a group key nor an aggregate
SELECT ward, count(*) FROM patients
--! SqlError: there is no accuracy option named 'seed'
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (seed = 1)
--! SqlError: there is no accuracy option named 'noise'
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (noise = false)
--! SqlError: there is no accuracy option named 'analyst'
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (analyst = 'paul')
--! SqlError: there is no accuracy option named 'ledger'
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (ledger = 'other')
--! AccuracyError: epsilon = 0 is out of range (1e-18, 1e+06)
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (epsilon = 0)
--! AccuracyError: epsilon = -1 is out of range (1e-18, 1e+06)
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (epsilon = -1)
--! AccuracyError: epsilon = 1000000000.0 is out of range (1e-18,
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (epsilon = 1e9)
--! BudgetExhausted: the query may cost epsilon
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (epsilon = 5)
--! AccuracyError: epsilon must be a number
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (epsilon = 'inf')
--! SqlError: the value of an accuracy option is a number, a
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (epsilon = NaN)
--! SqlError: the value of an accuracy option is a number, a
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (epsilon = (SELECT 1))
--! SqlError: the value of an accuracy option is a number, a
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (epsilon = count(*))
--! AccuracyError: fnr = 0.5 is out of range (0, 0.5)
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (fnr = 0.5)
--! AccuracyError: fnr = 0 is out of range (0, 0.5)
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (fnr = 0)
--! AccuracyError: fpr = 1 is out of range (0, 1)
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (fpr = 1)
--! AccuracyError: algorithm = 'exact' is not one of naive, apex,
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (algorithm = 'exact')
--! SqlError: the option algorithm is given twice
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (algorithm = 'probe', algorithm = 'naive')
--! SqlError: each accuracy option is a name, = and a value
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (fnr)
--! SqlError: WITH ACCURACY needs its options in parentheses
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY
--! SqlError: WITH ACCURACY (...) must be the last clause of
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY () LIMIT 1
--! SqlError: WITH ACCURACY (...) must be the last clause of
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (fnr = 0.05) WITH ACCURACY (fnr = 0.05)
--! AccuracyError: margin = 0 is out of range (0, inf)
SELECT ward, sum(cost) AS s FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (margin = 0)
--! SqlError: the values of the SELECT list alone cost
SELECT ward, sum(cost) AS s FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (margin = 0.0001)
--! AccuracyError: confidence = 1 is out of range (1e-15, 1)
SELECT ward, sum(cost) AS s FROM patients GROUP BY ward HAVING count(*) > 0 WITH ACCURACY (margin = 10, confidence = 1)
