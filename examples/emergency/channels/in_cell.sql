SELECT r.report, r.type, r.severity, r.text, r.fed_at
FROM reports r
WHERE r.cell = :cell
