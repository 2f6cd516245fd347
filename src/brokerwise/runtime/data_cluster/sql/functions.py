"""The functions that a channel may call. What is not here is refused.

All give the same answer for the same records, wherever and whenever they run, and
none makes much out of little: a text of a given length (repeat, space), rows, patterns
that a text from outside can make endless.
"""

from enum import Enum

_CHOOSING = """between coalesce equal_null greatest if ifnull isnan isnotnull isnull
    least nanvl nullif nullifzero nvl nvl2 zeroifnull"""
_TYPES = (
    "bigint boolean date decimal double float int smallint string timestamp tinyint"
)
_MATHS = """abs acos acosh asin asinh atan atan2 atanh bin bit_count bround cbrt ceil
    ceiling conv cos cosh cot csc degrees e exp expm1 factorial floor format_number hex
    hypot ln log log10 log1p log2 mod negative pi pmod positive pow power radians rint
    round sec shiftleft shiftright sign signum sin sinh sqrt tan tanh try_add
    try_divide try_mod try_multiply try_subtract width_bucket"""
_TEXTS = """ascii base64 bit_length btrim char char_length character_length chr concat
    concat_ws contains crc32 endswith find_in_set get_json_object hash ilike initcap
    instr json_array_length lcase left len length like locate lower lpad ltrim md5
    octet_length overlay position regexp regexp_count regexp_extract regexp_instr
    regexp_like regexp_replace regexp_substr replace reverse right rlike rpad rtrim
    sha sha1 sha2 soundex split split_part startswith substr substring
    substring_index translate trim ucase upper xxhash64"""
_TIMES = """add_months date_add date_diff date_format date_from_unix_date date_part
    date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek
    dayofyear extract from_unixtime from_utc_timestamp hour last_day make_date
    make_interval make_timestamp minute month monthname months_between
    next_day quarter second timestamp_micros timestamp_millis timestamp_seconds to_date
    to_timestamp to_unix_timestamp to_utc_timestamp trunc try_to_timestamp unix_date
    unix_micros unix_millis unix_seconds weekday weekofyear year"""
_LISTS = """array array_append array_compact array_contains array_distinct array_except
    array_intersect array_join array_max array_min array_position array_prepend
    array_remove array_size array_sort array_union arrays_overlap arrays_zip
    cardinality exists filter flatten forall get named_struct size slice
    sort_array struct transform zip_with"""
_GROUPS = """any approx_count_distinct array_agg avg bit_and bit_or bit_xor bool_and
    bool_or collect_list collect_set corr count count_if covar_pop covar_samp every
    kurtosis max max_by mean median min min_by percentile skewness some std stddev
    stddev_pop stddev_samp sum try_avg try_sum var_pop var_samp variance"""

FUNCTIONS = frozenset(
    " ".join((_CHOOSING, _TYPES, _MATHS, _TEXTS, _TIMES, _LISTS, _GROUPS)).split()
)

# Their order depends on how Spark ran: only sorted they are always the same.
UNORDERED = frozenset({"collect_list", "collect_set", "array_agg"})
SORTING = frozenset({"array_sort", "sort_array"})


class Rule(Enum):
    """What an argument must be."""

    SHORT = "a text in quotes or a parameter"
    TEXT = "a text in quotes"
    SMALL = "a whole number up to 1,000"
    PLACE = "a whole number from 1 to 1,000"
    SCALE = "a whole number from -100 to 100"
    LIKE = "a text in quotes with at most 3 times %"
    PATTERN = "a simple pattern in quotes"


# By the place of the argument, from 0. Without these, a record or a subscriber's value
# could make a result far larger than what went in, or a match that takes for ever.
ARGUMENTS: dict[str, dict[int, Rule]] = {
    "array_join": {1: Rule.SHORT, 2: Rule.SHORT},
    "bround": {1: Rule.SCALE},
    "ceil": {1: Rule.SCALE},
    "ceiling": {1: Rule.SCALE},
    "concat_ws": {0: Rule.SHORT},
    "date_format": {1: Rule.TEXT},
    "floor": {1: Rule.SCALE},
    "format_number": {1: Rule.SMALL},
    "from_unixtime": {1: Rule.TEXT},
    "from_utc_timestamp": {1: Rule.TEXT},
    "get_json_object": {1: Rule.TEXT},
    "ilike": {1: Rule.LIKE},
    "like": {1: Rule.LIKE},
    "lpad": {1: Rule.SMALL, 2: Rule.SHORT},
    "max_by": {2: Rule.SMALL},
    "min_by": {2: Rule.SMALL},
    "regexp": {1: Rule.PATTERN},
    "regexp_count": {1: Rule.PATTERN},
    "regexp_extract": {1: Rule.PATTERN, 2: Rule.SMALL},
    "regexp_instr": {1: Rule.PATTERN},
    "regexp_like": {1: Rule.PATTERN},
    "regexp_replace": {1: Rule.PATTERN, 2: Rule.SHORT},
    "regexp_substr": {1: Rule.PATTERN},
    "replace": {2: Rule.SHORT},
    "rlike": {1: Rule.PATTERN},
    "round": {1: Rule.SCALE},
    "rpad": {1: Rule.SMALL, 2: Rule.SHORT},
    "slice": {1: Rule.PLACE, 2: Rule.SMALL},
    "split": {1: Rule.PATTERN},
    "split_part": {1: Rule.SHORT, 2: Rule.PLACE},
    "to_date": {1: Rule.TEXT},
    "to_timestamp": {1: Rule.TEXT},
    "to_unix_timestamp": {1: Rule.TEXT},
    "to_utc_timestamp": {1: Rule.TEXT},
    "try_to_timestamp": {1: Rule.TEXT},
}

# Some numbers make them fail. A record with such a number is set aside; a subscriber
# who gives one must not end the run for all others.
FAILING = frozenset(
    {"add_months", "make_interval", "timestamp_millis", "timestamp_seconds"}
)
