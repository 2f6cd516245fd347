"""The data cluster: datasets, feeds, channels on Spark, and their results.

A record passes `feeds` (queued, written, acknowledged), `records` (parsed), `segments`
(its file, in a folder of `store`), `schedule` (when its channel runs), `runs` (the run
that covers it), `spark` (the query), `results` (the log), and `brokers` (they are told,
and pull). `sql/check.py` is where a channel's SQL is refused.
"""
