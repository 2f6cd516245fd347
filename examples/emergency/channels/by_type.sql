SELECT r.report, r.severity, r.cell, r.text, r.fed_at
FROM reports r
WHERE r.type = :type
