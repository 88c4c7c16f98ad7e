"""What Schemathesis cannot read from the OpenAPI document of Atlas.

Some rules cannot be said in a schema, some depend on what is stored and some on
who calls. Hooks tell them; no check is switched off.
"""

import json
import re

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.openapi.checks import RejectedPositiveData

CURSOR = re.compile(r"\A[A-Za-z0-9_-]+\Z")
DAY = re.compile(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}")


def orderly(value):
    """Whether a generated value is one that can stand in a range."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) or isinstance(value, str) and DAY.match(value)


def settle(value):
    """Puts the ends of ranges in order, wherever they stand.

    The lower end first is a rule between two values, which no schema says.
    Swapping them changes nothing else of a value, valid or not.
    """
    if isinstance(value, dict):
        for first, last in (("min", "max"), ("after", "before")):
            a, b = value.get(first), value.get(last)
            if isinstance(a, str) and isinstance(b, str):
                number = first == "min" and a.isdigit() and b.isdigit()
                if (int(a) > int(b)) if number else (DAY.match(a) and DAY.match(b) and a > b):
                    value[first], value[last] = b, a
        filtered = value.get("value")
        if isinstance(filtered, list) and len(filtered) == 2 and all(orderly(end) for end in filtered):
            if type(filtered[0]) is str and type(filtered[1]) is str or not any(type(end) is str for end in filtered):
                value["value"] = sorted(filtered)
        for member in value.values():
            settle(member)
    elif isinstance(value, list):
        for element in value:
            settle(element)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    # Where a link's body comes from is an extension: generators refuse it in its place.
    for item in raw_schema["paths"].values():
        for operation in item.values():
            for response in operation.get("responses", {}).values() if isinstance(operation, dict) else ():
                for link in response.get("links", {}).values():
                    if "x-request-body" in link:
                        link["requestBody"] = link.pop("x-request-body")


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    if not isinstance(body, dict):
        return
    settle(body)
    # A cursor is signed: only one that the service gave out can be sent, and of
    # those that are made up every one is refused alike. Null is as valid.
    if isinstance(body.get("search_after"), str) and CURSOR.match(body["search_after"]):
        body["search_after"] = None


# Why the service may refuse, with 400, what the document allows: error codes and
# the operations that answer them so.
CAUSES = {
    # Who calls: these need a user, and one of the two runs has an API key.
    "user_identity_required": re.compile(r"favorite|_skills?\Z|accept_invitation|list_views"),
    # What is stored: of which dataset and type the View is.
    "view_type_mismatch": re.compile(r"view_record"),
    "view_immutable_field": re.compile(r"\Aupsert_view\Z"),
    "invalid_view_definition": re.compile(r"\Aupsert_view\Z"),
    # Who is meant: a member's own id.
    "cannot_self_remove": re.compile(r"\Aremove_member\Z"),
}


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from texts(member)


def refused_for_cause(operation, text):
    try:
        error = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        return False
    if "issues" not in error:
        return bool(error.get("code") in CAUSES and CAUSES[error["code"]].search(operation))
    issues = error["issues"]
    # "custom" is the code of rules between values.
    if issues and all(issue["code"] == "custom" for issue in issues):
        return True
    # Which of the three shapes of request fits depends on the View.
    return operation == "search_view_records"


def item_refused(text):
    return any(result["status"] != "ok" for result in json.loads(text)["data"]["results"])


@schemathesis.hook
def filter_failure(context, failure: Failure, case, response):
    """Keeps a failure, unless valid data was refused for one of the causes, or an
    item of a batch was refused, which the batch survives, or a text is too long by
    its padding only: texts are trimmed before they are measured, and a schema
    measures them as they are."""
    operation = case.operation.definition.raw
    if isinstance(failure, AcceptedNegativeData) and "x-batch" in operation and item_refused(response.text):
        return False
    if isinstance(failure, AcceptedNegativeData) and "violates `maxLength`" in failure.message:
        return not any(text != text.strip() for text in texts(case.body))
    if isinstance(failure, RejectedPositiveData) and response.status_code == 400:
        return not refused_for_cause(operation.get("operationId", ""), response.text)
    return True
