"""What the pack adds to expressions."""

from countersign_kyc.lei import is_lei
from runtime.functions import Function, Type

FUNCTIONS = (Function("kyc_is_lei", 1, (Type.TEXT,), Type.BOOLEAN, is_lei),)
"""`kyc_is_lei(text)`: whether a text has the form of an LEI and right check digits."""
