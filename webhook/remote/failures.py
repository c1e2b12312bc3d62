"""What went wrong with a connection, in one line that says what to do."""

from __future__ import annotations

import socket
import ssl
from http.client import HTTPException, IncompleteRead, RemoteDisconnected

from webhook.policy.printable import printable
from webhook.remote.address import Address

_EXPIRED, _NOT_YET_VALID = 10, 9
_WRONG_NAME = (62, 64)
_UNKNOWN_AUTHORITY = (2, 18, 19, 20, 21)
"""Values of `verify_code`: X509_V_ERR_… in OpenSSL's x509_vfy.h."""

_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
_NO_COMMON_VERSION = ("TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL", "NO_PROTOCOLS_AVAILABLE")
_CLIENT = (
    "TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "SSLV3_ALERT_HANDSHAKE_FAILURE",
    "SSLV3_ALERT_BAD_CERTIFICATE",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED",
    "TLSV1_ALERT_UNKNOWN_CA",
    "TLSV1_ALERT_ACCESS_DENIED",
)
"""Values of `reason` by which a server rejects the client's certificate, or its absence."""

CLIENT_REMEDY = "pass --client-cert and --client-key of a client that tls.clientCA and tls.clientSubjects allow"


_CLOSED = (
    "closes the connection without a response; check the log of the webhook, and pass --client-cert if the webhook has "
    "a tls.clientCA"
)


def explain(error: Exception, address: Address, connect: float, response: float) -> str:
    """Return the reason for an error of a connection, and the remedy. Both times are in seconds."""
    return f"{address} {_reason(error, address, connect, response)}"


def _reason(error: Exception, address: Address, connect: float, response: float) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return _of_certificate(error, address)
        case ssl.SSLEOFError() | RemoteDisconnected():
            return _CLOSED
        case ssl.SSLError():
            return _of_tls(error)
        case socket.gaierror():
            return "cannot be resolved; check the name of the host"
        case ConnectionRefusedError():
            return "refuses the connection; start the webhook or kubectl port-forward, and check the port"
        case TimeoutError():
            return (
                f"does not answer in time: {connect:g} s to connect, {response:g} s for a response; check the "
                "address, and the log of the webhook"
            )
        case IncompleteRead():
            return "closes the connection in the middle of a response; check the log of the webhook"
        case ConnectionError():
            return _CLOSED
        case HTTPException():
            return "does not answer in HTTP; name the review port of gpushare-webhook"
        case UnicodeError():
            return "is not a name of a host; check --server and --server-name"
        case OSError():
            return f"cannot be reached: {printable(error.strerror or str(error))}; check the address"
        case _:
            return f"{printable(str(error))}; name the review port of gpushare-webhook"


def _of_certificate(error: ssl.SSLCertVerificationError, address: Address) -> str:
    if error.verify_code == _EXPIRED:
        return "has a certificate that has expired; renew it, and check the clock of this machine"
    if error.verify_code == _NOT_YET_VALID:
        return "has a certificate that is not valid yet; check the clock of this machine"
    if error.verify_code in _WRONG_NAME:
        return (
            f"has a certificate for another name than {printable(address.server_name)}; name the webhook's Service "
            "with --server-name, such as NAME.NAMESPACE.svc"
        )
    if error.verify_code in _UNKNOWN_AUTHORITY:
        return "has a certificate of an unknown authority; pass the CA bundle of the webhook configuration with --ca"
    return f"has a certificate that cannot be verified: {printable(error.verify_message)}; check it and --ca"


def _of_tls(error: ssl.SSLError) -> str:
    reason = str(error.reason or "")
    if reason in _NOT_TLS:
        return "does not speak TLS; name the review port of gpushare-webhook, not its health port"
    if reason in _NO_COMMON_VERSION:
        return "speaks no version of TLS that this machine allows; check tls.minVersion"
    if reason in _CLIENT:
        return f"demands a client certificate, as only the API server has; {CLIENT_REMEDY}"
    shown = printable(reason.replace("_", " ").lower() or error.strerror or "unknown reason")
    return f"ends the TLS connection: {shown}; check the log of the webhook"
