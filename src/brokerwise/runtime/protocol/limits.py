"""Every bound of the live system, in one place. docs/protocol.md quotes them."""

VERSION = 1  # of the protocol

MAX_NAME_BYTES = 256  # of a topic, a user, a source or a broker
MAX_FRAME_BYTES = 1 << 20  # of a frame from a client, and of a body over HTTP
MAX_HEAD_BYTES = 16 << 10  # of the head of an HTTP request
MAX_ANSWER_BYTES = 64 << 20  # of a body or a frame that answers us
MAX_TOPICS_PER_FRAME = 10_000
MAX_TOPICS = 100_000  # that there may be without a plan; more are unknown
MAX_CURSORS_PER_FRAME = 100_000
MAX_TOKEN_LENGTH = 1_024
MAX_REASON_LENGTH = 1_024  # why a client declines a move
MAX_SEQ = (1 << 53) - 1  # what a browser can count to

LOGIN_SECONDS = 5.0  # a connection that has not logged in by then is closed
BEAT_SECONDS = 1.0  # a session hears at least this often from its broker
SILENCE_SECONDS = 3.0  # a client that hears nothing this long looks elsewhere
HEARTBEAT_SECONDS = 0.75  # a broker reports to the coordinator this often
LEASE_SECONDS = 3.0  # one that has not for this long is lost
CLOSE_SECONDS = 2.0  # that the other end has to finish a close, then it is cut off
REQUEST_SECONDS = 2.0  # a request between our own processes fails after this long

ACK_EVERY = 64  # messages that a client receives between two acknowledgements
ACK_SECONDS = 0.2  # or so long after the first that is not acknowledged
MAX_UNACKNOWLEDGED = 50_000  # messages; a session with more is closed
ACK_PATIENCE_SECONDS = 10.0  # and one that acknowledges nothing for so long

SESSION_QUEUE_BYTES = 8 << 20  # that wait for a slow reader, then it is closed
RESERVED_FILES = 128  # that a broker keeps for the fleet, or a quarter of its limit
PUBLISH_WINDOW = 1_024  # messages that a publisher may have unconfirmed at a broker
PUBLISH_RATE = 50_000  # messages a second from one connection, then it is held back
DELIVERIES_PER_TURN = 40_000  # then other connections have their turn
MESSAGES_PER_TURN = 2_000  # or after so many messages published
BYTES_PER_TURN = 1 << 20  # or so many bytes of them
PRESSED_SECONDS = 0.5  # a publisher waits so long for subscribers whose queue fills

STEP_QUEUE_MESSAGES = 10_000  # that wait for a processing step, then no more fit
STEP_QUEUE_BYTES = 64 << 20

TRANSITION_SECONDS = 2.0  # a topic that joins a broker waits so long for stragglers
HELD_MESSAGES = 100_000  # that wait for an earlier one or a route, of one topic
HELD_BYTES = 4 << 20  # they are let go at once, into queues of SESSION_QUEUE_BYTES
HELD_BYTES_IN_ALL = 64 << 20  # of all topics
MOVE_SECONDS = 20.0  # a client that has not moved by then stays where it is

MAX_FEED_BYTES = 16 << 20  # of one feed over HTTP
MAX_RECORD_BYTES = 1 << 20  # of one record, a line of it
ROLL_SECONDS = 0.5  # what is fed becomes a segment after so long,
ROLL_BYTES = 8 << 20  # or so many bytes
SEGMENTS_PER_RUN = 500  # that one run of a channel covers at most
RUN_SECONDS = 60.0  # a run that takes longer is ended
RUN_ROWS = 1_000_000  # results of one run at most
RUN_BYTES = 256 << 20
PULL_BYTES = 4 << 20  # of results in one answer
ACKNOWLEDGE_SECONDS = 1.0  # a broker tells the data cluster what was seen this often
KEPT_SECONDS = 3600.0  # results are kept so long, and who is offline
KEPT_BYTES = 4 << 30  # or so many bytes of results, the newest
