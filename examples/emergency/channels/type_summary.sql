SELECT r.cell, count(*) AS reports, max(r.severity) AS worst, min(r.fed_at) AS fed_at
FROM reports r
WHERE r.type = :type
GROUP BY r.cell
