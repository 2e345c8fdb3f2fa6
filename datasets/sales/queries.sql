-- The KPI queries of the paper's Table 2. The benchmark writes thresholds by the Z-score rule.
-- Those here are round numbers for trying things out on the stand-in.

-- sales volume
SELECT market, period FROM sales GROUP BY market, period
HAVING count(*) > 210;

-- regional sales volume: the chain's home region (Marmara), or the retailer's (UK)
SELECT market, period FROM sales GROUP BY market, period
HAVING count(*) FILTER (WHERE region IN ('MARMARA', 'UK')) > 200;

-- user retention rate: customers per period
SELECT market, period FROM sales GROUP BY market, period
HAVING count(DISTINCT customer_id) > 150;

-- conversion rate: sales per customer, as the ratio that it is
SELECT market, period FROM sales GROUP BY market, period
HAVING count(*) / count(DISTINCT customer_id) > 2.25;

-- Q1 OR (Q2 AND Q3), the query of the experiments on u and on trees
SELECT market, period FROM sales GROUP BY market, period
HAVING count(*) > 210
    OR (count(*) FILTER (WHERE region IN ('MARMARA', 'UK')) > 200
        AND count(DISTINCT customer_id) > 150);

-- average transaction value
SELECT market, period FROM sales GROUP BY market, period
HAVING avg(line_total) > 32 AND avg(unit_price) > 5;
