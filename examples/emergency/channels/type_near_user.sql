SELECT r.report, r.severity, r.cell, r.text, r.fed_at, r.shelters
FROM user_locations u
JOIN (
  SELECT q.report, q.type, q.severity, q.cell, q.x, q.y, q.text, q.fed_at,
         slice(sort_array(collect_list(
           CASE WHEN s.shelter IS NOT NULL THEN named_struct(
             'metres', CAST(floor(sqrt(
               (q.x - s.x) * (q.x - s.x) + (q.y - s.y) * (q.y - s.y))) AS BIGINT),
             'shelter', s.shelter) END)), 1, 3) AS shelters
  FROM reports q
  LEFT JOIN shelters s
    ON s.x BETWEEN q.x - 2000 AND q.x + 2000
   AND s.y BETWEEN q.y - 2000 AND q.y + 2000
  GROUP BY q.report, q.type, q.severity, q.cell, q.x, q.y, q.text, q.fed_at
) r
  ON r.x BETWEEN u.x - 1000 AND u.x + 1000
 AND r.y BETWEEN u.y - 1000 AND u.y + 1000
WHERE u.user = :user AND r.type = :type
