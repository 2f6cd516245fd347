"""What Spark may have made of a query whose text is allowed: checked once more, since
a name can turn out to be something else (current_date, a variable, a column of files).

Names are of classes of Spark, without org.apache.spark.sql.catalyst.
"""

_PLANS = """Project Filter Aggregate Join SubqueryAlias View Sort GlobalLimit
    LocalLimit LimitAll Offset Distinct Union Except Intersect OneRowRelation
    LocalRelation WithCTE CTERelationDef CTERelationRef LateralJoin"""
PLANS = frozenset(f"plans.logical.{name}" for name in _PLANS.split()) | {
    "org.apache.spark.sql.execution.LogicalRDD"
}

SUBQUERIES = frozenset(
    f"expressions.{name}"
    for name in ("ScalarSubquery", "Exists", "ListQuery", "LateralSubquery")
)

# These stand for another expression, which is below them.
_REPLACED = """ArrayAppend ArrayCompact ArrayPrepend ArraySize Base64 Between
    DatetimeSub EqualNull Extract Get ILike Left LengthOfJsonArray NullIf
    NullIfResult NullIfZero Nvl Nvl2 ParseToDate ParseToTimestamp RegExpCount
    RegExpSubStr Right SplitPart StringTrimBoth TryAdd TryDivide TryMod TryMultiply
    TrySubtract UnaryPositive ZeroIfNull aggregate.BoolAnd aggregate.BoolOr
    aggregate.CountIf aggregate.Median"""
REPLACED = frozenset(f"expressions.{name}" for name in _REPLACED.split())

_EXPRESSIONS = """Abs Acos Acosh Add AddMonths Alias And ArrayContains ArrayDistinct
    ArrayExcept ArrayExists ArrayFilter ArrayForAll ArrayIntersect ArrayJoin
    ArrayMax ArrayMin ArrayPosition ArrayRemove ArraySort ArrayTransform ArrayUnion
    ArraysOverlap ArraysZip Ascii Asin Asinh Atan Atan2 Atanh AttributeReference
    BRound Bin BitLength BitwiseAnd BitwiseCount BitwiseNot BitwiseOr BitwiseXor
    CaseWhen Cast Cbrt Ceil Chr Coalesce CommonExpressionDef CommonExpressionRef
    Concat ConcatWs Contains Conv Cos Cosh Cot Crc32 CreateArray CreateNamedStruct
    Csc DateAdd DateAddInterval DateAddYMInterval DateDiff DateFormatClass
    DateFromUnixDate DateSub DayName DayOfMonth DayOfWeek DayOfYear Divide EndsWith
    EqualNullSafe EqualTo EulerNumber Exp Expm1 Factorial FindInSet Flatten Floor
    FormatNumber FromUTCTimestamp FromUnixTime GetArrayItem GetArrayStructFields
    GetJsonObject GetStructField GreaterThan GreaterThanOrEqual Greatest Hex Hour
    Hypot If In InSubquery InitCap IntegralDivide IsNaN IsNotNull IsNull
    LambdaFunction LastDay Least Length LessThan LessThanOrEqual Like LikeAll
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
EXPRESSIONS = (
    frozenset(f"expressions.{name}" for name in _EXPRESSIONS.split())
    | REPLACED
    | SUBQUERIES
)
# Calls of Spark's own code, which only an expression that is replaced may contain.
CALLS = frozenset({"expressions.objects.StaticInvoke", "expressions.objects.Invoke"})
