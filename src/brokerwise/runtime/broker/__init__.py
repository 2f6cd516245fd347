"""A broker: sessions, topics, and the process that carries them.

A published message passes `connections` (bytes to frames, turns), `subscriptions`
(whose frame it is), `router` (order, other brokers, delivery), with its state in
`topics` and `sessions`. These and `channels` are the cores: no I/O, and what they want
done comes back as commands. Around them is the shell: `process` (start,
chores, end), `coordination` (lease, routes), `peers`, `data_cluster`, `processing` with
`step_worker`, and `http`. `loads` and `metrics` measure.
"""
