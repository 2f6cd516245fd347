"""The parts of SQL and the functions that a channel may have. What is not here is
refused.

`PLANS`, `EXPRESSIONS`, `PARTS`: what Spark's parser may make of a text. `FUNCTIONS`,
`ARGUMENTS`: what may be called, with which arguments. `ANALYZED_...`: what Spark's
analysis may make of it: checked once more, since a name can turn out to be something
else (current_date, a variable, a column of files). Names are of classes of Spark,
without CATALYST.

All functions give the same answer for the same records, wherever and whenever they run,
and none makes much out of little: a text of a given length (repeat, space), rows,
patterns that a text can be chosen for to take for ever.
"""

import re
from enum import Enum

CATALYST = "org.apache.spark.sql.catalyst."


def _classes(package: str, names: str) -> frozenset[str]:
    return frozenset(f"{package}.{name}" for name in names.split())


PLANS = _classes(
    "plans.logical",
    """Project Filter Aggregate Join SubqueryAlias UnresolvedWith Sort GlobalLimit
    LocalLimit LimitAll Offset Distinct Union Except Intersect OneRowRelation
    LocalRelation""",
) | _classes(
    "analysis",
    """UnresolvedRelation UnresolvedHaving UnresolvedInlineTable
    UnresolvedSubqueryColumnAliases""",
)

OPERATORS = _classes(
    "expressions",
    """And Or Not EqualTo EqualNullSafe LessThan LessThanOrEqual GreaterThan
    GreaterThanOrEqual Add Subtract Multiply Divide Remainder IntegralDivide
    UnaryMinus UnaryPositive BitwiseAnd BitwiseOr BitwiseXor BitwiseNot ShiftLeft
    ShiftRight Concat In Like ILike RLike LikeAll LikeAny NotLikeAll NotLikeAny IsNull
    IsNotNull CaseWhen Cast Literal CreateNamedStruct TimestampAdd TimestampDiff
    StringTrim StringTrimLeft StringTrimRight StringLocate Substring Overlay""",
)
SUBQUERIES = _classes("expressions", "ScalarSubquery Exists ListQuery")
EXPRESSIONS = (
    OPERATORS
    | SUBQUERIES
    | _classes(
        "expressions",
        """Alias SortOrder InSubquery LambdaFunction
        UnresolvedNamedLambdaVariable""",
    )
    | _classes(
        "analysis",
        """UnresolvedAlias UnresolvedAttribute UnresolvedExtractValue
        UnresolvedFunction UnresolvedOrdinal UnresolvedStar
        UnresolvedStarExceptOrReplace NamedParameter""",
    )
)

# Details of the above that are read like them.
PARTS = frozenset(
    {
        "AliasIdentifier",
        "expressions.NumericEvalContext",
        "plans.NaturalJoin",
        "plans.UsingJoin",
        "plans.logical.JoinHint",
    }
)
# Details without fields.
MARKS = _classes(
    "expressions", "Ascending$ Descending$ NullsFirst$ NullsLast$"
) | _classes(
    "plans", "Inner$ Cross$ LeftOuter$ RightOuter$ FullOuter$ LeftSemi$ LeftAnti$"
)
# Numbers that tell one thing from another, each time others.
IDENTITIES = frozenset({"expressions.ExprId", "java.util.UUID"})

# Words for some that are refused: only the lists above decide.
_WINDOW = "window functions are not allowed: a run sees only the newest records"
_WRITES = "a channel only reads: it cannot change anything"
_NOW = "what depends on when or where it runs is not allowed"
_WORDS = {
    "ScriptTransformation": "TRANSFORM is not allowed: it runs programs",
    "LateralJoin": "LATERAL is not allowed: join, and group",
    "Generate": "LATERAL VIEW is not allowed: a record is one row",
    "UnresolvedHint": "hints are not allowed",
    "WithWindowDefinition": _WINDOW,
    "Sample": "TABLESAMPLE is not allowed: it takes records at random",
    "RepartitionByExpression": "how rows are spread is not the query's",
    "Pivot": "PIVOT is not allowed",
    "Unpivot": "UNPIVOT is not allowed",
    "CompoundBody": "scripts are not allowed, only one query",
    "InsertIntoStatement": _WRITES,
    "UnresolvedQualify": _WINDOW,
    "UnresolvedTableValuedFunction": "functions that make tables are not "
    "allowed: FROM takes datasets",
    "UnresolvedExecuteImmediate": "EXECUTE IMMEDIATE is not allowed",
    "RelationTimeTravel": "datasets have no older versions",
    "NamedStreamingRelation": "STREAM is not allowed: a channel sees new "
    "records as they are",
    "ExpressionWithUnresolvedIdentifier": "IDENTIFIER is not allowed: write the name",
    "PlanWithUnresolvedIdentifier": "IDENTIFIER is not allowed: write the name",
    "PosParameter": "? is not allowed: parameters have names, :name",
    "NamePlaceholder": "* stands for columns of SELECT only: name them here",
    "PipeOperator": "|> is not allowed: write SELECT ... FROM ...",
    "MultiAlias": "one expression is one column",
    "WindowExpression": _WINDOW,
    "WindowSpecDefinition": _WINDOW,
    "UnresolvedWindowExpression": _WINDOW,
    "LateralSubquery": "LATERAL is not allowed: join, and group",
    "Cube": "CUBE is not allowed: GROUP BY columns",
    "Rollup": "ROLLUP is not allowed: GROUP BY columns",
    "GroupingSets": "GROUPING SETS is not allowed: GROUP BY columns",
    "NamedArgumentExpression": "arguments are given in order, not by name",
    "Collate": "COLLATE is not allowed",
    "AggregateExpression": "a function whose answer depends on "
    "the order of the records is not allowed",
    "CurrentTimestamp": _NOW,
    "CurrentDate": _NOW,
    "CurrentTime": _NOW,
    "CurrentUser": _NOW,
    "Now": _NOW,
    "LocalTimestamp": _NOW,
    "CurrentTimeZone": _NOW,
    "CurrentDatabase": _NOW,
    "CurrentCatalog": _NOW,
    "InputFileName": _NOW,
    "VariableReference": "there are no session variables",
    "SemiStructuredExtract": "a : after a value is not allowed: is something missing "
    "before the parameter?",
}
_COMMANDS = re.compile("Command|Create|Drop|Alter|Delete|Update|Merge|Replace")


def refusal_reason(kind: str) -> str:
    """Why a part that is not in the lists is refused."""
    name = kind.rpartition(".")[2].strip("$")
    if name in _WORDS:
        return _WORDS[name]
    if _COMMANDS.search(name) or ".command." in kind:
        return _WRITES + f" ({name})"
    return f"this is not allowed in a channel ({name})"


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


def _each(names: str, rules: dict[int, Rule]) -> dict[str, dict[int, Rule]]:
    """The same rules for each of these functions."""
    return dict.fromkeys(names.split(), rules)


# By the place of the argument, from 0. Without these, a record or a subscriber's value
# could make a result far larger than what went in, or a match that takes for ever.
ARGUMENTS: dict[str, dict[int, Rule]] = {
    **_each("array_join", {1: Rule.SHORT, 2: Rule.SHORT}),
    **_each("bround ceil ceiling floor round", {1: Rule.SCALE}),
    **_each("concat_ws", {0: Rule.SHORT}),
    **_each(
        """date_format from_unixtime from_utc_timestamp get_json_object to_date
        to_timestamp to_unix_timestamp to_utc_timestamp try_to_timestamp""",
        {1: Rule.TEXT},
    ),
    **_each("format_number", {1: Rule.SMALL}),
    **_each("ilike like", {1: Rule.LIKE}),
    **_each("lpad rpad", {1: Rule.SMALL, 2: Rule.SHORT}),
    **_each("max_by min_by", {2: Rule.SMALL}),
    **_each(
        "regexp regexp_count regexp_instr regexp_like regexp_substr rlike split",
        {1: Rule.PATTERN},
    ),
    **_each("regexp_extract", {1: Rule.PATTERN, 2: Rule.SMALL}),
    **_each("regexp_replace", {1: Rule.PATTERN, 2: Rule.SHORT}),
    **_each("replace", {2: Rule.SHORT}),
    **_each("slice", {1: Rule.PLACE, 2: Rule.SMALL}),
    **_each("split_part", {1: Rule.SHORT, 2: Rule.PLACE}),
}

# Some numbers make them fail. A record with such a number is set aside; a subscriber
# who gives one must not end the run for all others.
FAILING = frozenset(
    {"add_months", "make_interval", "timestamp_millis", "timestamp_seconds"}
)


ANALYZED_PLANS = _classes(
    "plans.logical",
    """Project Filter Aggregate Join SubqueryAlias View Sort GlobalLimit LocalLimit
    LimitAll Offset Distinct Union Except Intersect OneRowRelation LocalRelation
    WithCTE CTERelationDef CTERelationRef LateralJoin""",
) | {"org.apache.spark.sql.execution.LogicalRDD"}

ANALYZED_SUBQUERIES = SUBQUERIES | {"expressions.LateralSubquery"}

# These stand for another expression, which is below them.
REPLACED = _classes(
    "expressions",
    """ArrayAppend ArrayCompact ArrayPrepend ArraySize Base64 Between
    DatetimeSub EqualNull Extract Get ILike Left LengthOfJsonArray NullIf
    NullIfResult NullIfZero Nvl Nvl2 ParseToDate ParseToTimestamp RegExpCount
    RegExpSubStr Right SplitPart StringTrimBoth TryAdd TryDivide TryMod TryMultiply
    TrySubtract UnaryPositive ZeroIfNull aggregate.BoolAnd aggregate.BoolOr
    aggregate.CountIf aggregate.Median""",
)

_ANALYZED = """Abs Acos Acosh Add AddMonths Alias And ArrayContains
    ArrayDistinct ArrayExcept ArrayExists ArrayFilter ArrayForAll ArrayIntersect
    ArrayJoin ArrayMax ArrayMin ArrayPosition ArrayRemove ArraySort ArrayTransform
    ArrayUnion ArraysOverlap ArraysZip Ascii Asin Asinh Atan Atan2 Atanh
    AttributeReference BRound Bin BitLength BitwiseAnd BitwiseCount BitwiseNot
    BitwiseOr BitwiseXor CaseWhen Cast Cbrt Ceil Chr Coalesce CommonExpressionDef
    CommonExpressionRef Concat ConcatWs Contains Conv Cos Cosh Cot Crc32 CreateArray
    CreateNamedStruct Csc DateAdd DateAddInterval DateAddYMInterval DateDiff
    DateFormatClass DateFromUnixDate DateSub DayName DayOfMonth DayOfWeek DayOfYear
    Divide EndsWith EqualNullSafe EqualTo EulerNumber Exp Expm1 Factorial FindInSet
    Flatten Floor FormatNumber FromUTCTimestamp FromUnixTime GetArrayItem
    GetArrayStructFields GetJsonObject GetStructField GreaterThan GreaterThanOrEqual
    Greatest Hex Hour Hypot If In InSubquery InitCap IntegralDivide IsNaN IsNotNull
    IsNull LambdaFunction LastDay Least Length LessThan LessThanOrEqual Like LikeAll
    LikeAny Literal Log Log10 Log1p Log2 Logarithm Lower MakeDate MakeInterval
    MakeTimestamp Md5 MicrosToTimestamp MillisToTimestamp Minute Month MonthName
    MonthsBetween Multiply Murmur3Hash NaNvl NamedLambdaVariable NextDay Not
    NotLikeAll NotLikeAny OctetLength Or OuterReference Overlay Pi Pmod Pow Quarter
    RLike RegExpExtract RegExpInStr RegExpReplace Remainder Reverse Rint Round Sec
    Second SecondWithFraction SecondsToTimestamp Sha1 Sha2 ShiftLeft ShiftRight
    Signum Sin Sinh Size Slice SortArray SortOrder SoundEx Sqrt StartsWith
    StringInstr StringLPad StringLocate StringRPad StringReplace StringSplit
    StringSplitSQL StringTranslate StringTrim StringTrimLeft StringTrimRight
    StructsToJson Substring SubstringIndex Subtract SubtractDates SubtractTimestamps
    Tan Tanh TimestampAdd TimestampAddInterval TimestampAddYMInterval TimestampDiff
    ToDegrees ToRadians ToUTCTimestamp ToUnixTimestamp TruncDate TruncTimestamp
    UnaryMinus UnixDate UnixMicros UnixMillis UnixSeconds Upper WeekDay WeekOfYear
    WidthBucket With XxHash64 Year YearOfWeek ZipWith aggregate.AggregateExpression
    aggregate.Average aggregate.BitAndAgg aggregate.BitOrAgg aggregate.BitXorAgg
    aggregate.CollectList aggregate.CollectSet aggregate.Corr aggregate.Count
    aggregate.CovPopulation aggregate.CovSample aggregate.HyperLogLogPlusPlus
    aggregate.Kurtosis aggregate.Max aggregate.MaxBy aggregate.MaxMinByK
    aggregate.Min aggregate.MinBy aggregate.Percentile aggregate.Skewness
    aggregate.StddevPop aggregate.StddevSamp aggregate.Sum aggregate.VariancePop
    aggregate.VarianceSamp"""
ANALYZED_EXPRESSIONS = (
    _classes("expressions", _ANALYZED) | REPLACED | ANALYZED_SUBQUERIES
)
# Calls of Spark's own code, which only an expression that is replaced may contain.
CALLS = frozenset({"expressions.objects.StaticInvoke", "expressions.objects.Invoke"})
