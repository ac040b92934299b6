"""Settings of Django's own test suite, for a server that the environment names: DB_HOST, DB_PORT, DB_USER, DB_NAME.

What becomes of each test is written to the file RESULTS, a JSON list per line: its name, `passed`, `failed` or `skipped`, and why.
"""
import json
import os
import unittest

from django.test.runner import DiscoverRunner

READ_SECONDS = 60      # a statement that does not answer is a failure, not the end of the suite


def database(suffix: str) -> dict:
    return {"ENGINE": "django.db.backends.mysql", "NAME": os.environ["DB_NAME"] + suffix, "HOST": os.environ["DB_HOST"], "PORT": os.environ["DB_PORT"],
            "USER": os.environ["DB_USER"], "OPTIONS": {"read_timeout": READ_SECONDS}, "TEST": {"CHARSET": "utf8mb4", "NAME": os.environ["DB_NAME"] + suffix}}


DATABASES = {"default": database(""), "other": database("_other")}
SECRET_KEY = "django_tests_secret_key"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
TEST_RUNNER = "tidemark_settings.Runner"


class Result(unittest.TextTestResult):
    """Writes a line for each test; one whose subtests failed is written once."""

    def startTest(self, test):
        self.outcome = ("passed", "")
        super().startTest(test)

    def stopTest(self, test):
        self.write(test, *self.outcome)
        super().stopTest(test)

    def write(self, test, outcome: str, why: str):
        with open(os.environ["RESULTS"], "a") as results:
            results.write(json.dumps([test.id(), outcome, why]) + "\n")

    def went_wrong(self, test, error):
        why = f"{error[0].__name__}: {error[1]}"[:500]
        self.outcome = ("failed", why)
        if not isinstance(test, unittest.TestCase):    # setUpClass and the like
            self.write(test, "failed", why)

    def addError(self, test, error):
        self.went_wrong(test, error)
        super().addError(test, error)

    def addFailure(self, test, error):
        self.went_wrong(test, error)
        super().addFailure(test, error)

    def addSubTest(self, test, subtest, error):
        if error:
            self.went_wrong(test, error)
        super().addSubTest(test, subtest, error)

    def addUnexpectedSuccess(self, test):
        self.outcome = ("failed", "it was expected to fail")
        super().addUnexpectedSuccess(test)

    def addSkip(self, test, reason):
        self.outcome = ("skipped", reason)
        super().addSkip(test, reason)


class Runner(DiscoverRunner):
    def get_resultclass(self):
        return Result
