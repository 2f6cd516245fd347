"""The parts of SQL that a channel may have. What is not here is refused.

Names are of classes of Spark, without org.apache.spark.sql.catalyst.
"""

import re


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


def described(kind: str) -> str:
    """Why a part that is not in the lists is refused."""
    name = kind.rpartition(".")[2].strip("$")
    if name in _WORDS:
        return _WORDS[name]
    if _COMMANDS.search(name) or ".command." in kind:
        return _WRITES + f" ({name})"
    return f"this is not allowed in a channel ({name})"
