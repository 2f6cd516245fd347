SELECT r.report, r.severity, r.text, r.fed_at
FROM reports r
WHERE r.type = :type AND r.cell = :cell AND r.severity >= 3
