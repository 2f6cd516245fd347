"""The data cluster: datasets, feeds, channels on Spark, and their results.

A record passes `feeds` (taken, written, acknowledged), `records` (parsed), `segments`
(its file), `schedule` (when its channel runs), `runs` (which run covers it), `spark`
(the query), `results` (the log), and `brokers` (who is told, and pulls). `sql/check.py`
is where a channel's SQL is refused.
"""
