SELECT r.report, r.type, r.severity, r.text, r.fed_at,
       CAST(floor(sqrt((r.x - u.x) * (r.x - u.x) + (r.y - u.y) * (r.y - u.y)))
            AS BIGINT) AS metres
FROM user_locations u
JOIN reports r
  ON r.x BETWEEN u.x - 1000 AND u.x + 1000
 AND r.y BETWEEN u.y - 1000 AND u.y + 1000
WHERE u.user = :user
