"""The transport over NATS: an event loop in a thread, and a connection for the link to each other site.

    to.RECEIVER.SUBJECT      requests; the reply has the header Periplus-Error if the request failed
    sink.RECEIVER.SUBJECT    batches: kept by the stream 'sinks' of the receiver until they are applied

All connections are to the server of this site. Which account a message comes in tells who has sent it.
"""

import asyncio
import contextlib
import functools
import hashlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

from periplus.errors import MissingPart, SiteRefused, SiteUnreachable
from periplus.sites.messaging.nats_config import JOIN_ACCOUNT
from periplus.sites.messaging.transport import BatchHandler, RequestHandler, TrafficCount, unreachable

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

__all__ = ["NatsTransport", "import_nats"]

_LOG: Final = logging.getLogger("periplus.sites")
_ERROR: Final = "Periplus-Error"
_STREAM: Final = "sinks"
_CONSUMER: Final = "apply"
_CONNECT_SECONDS: Final = 5.0
_ACK_SECONDS: Final = 12.0
_FETCH_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 1.0
_WORKERS: Final = 16
_MAX_REQUESTS: Final = 256
"""Requests of other sites that wait for a thread; more are refused."""
_MAX_REQUEST_BYTES: Final = 4 << 20
"""Of one request: all that wait are in memory."""
_T = TypeVar("_T")


def import_nats() -> Any:
    """Return the package `nats`; raise `MissingPart` where it is not installed."""
    try:
        import nats
        import nats.js.api
    except ImportError as error:
        raise MissingPart(
            "A federation of sites needs packages that are not installed.", "Run: pip install periplus[sites]"
        ) from error
    return nats


class NatsTransport:
    """The messages of one site; implements `Transport`. Connections are made when they are first needed."""

    def __init__(
        self, site: str, url: str, passwords: dict[str, str], peers: Iterable[str] = (), stream_bytes: int = 1 << 30
    ) -> None:
        self._nats = import_nats()
        self._site, self._url, self._passwords = site, url, dict(passwords)
        self._stream_bytes = stream_bytes
        self._peers: set[str] = set()
        self._clients: dict[str, Any] = {}
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._handlers: dict[str, RequestHandler] = {}
        self._consumer: BatchHandler | None = None
        self._served: set[tuple[str, str]] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._traffic: dict[str, TrafficCount] = defaultdict(TrafficCount)
        self._waiting = 0
        self._closed = False
        self._starting = threading.Lock()
        """Held to start a coroutine, or to decide that none is started any more."""
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix=f"periplus-site-{site}")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="periplus-site-messages", daemon=True)
        self._thread.start()
        self.set_peers(peers)

    @property
    def site(self) -> str:
        """The name of this site."""
        return self._site

    def set_peers(self, peers: Iterable[str], passwords: dict[str, str] | None = None) -> None:
        """Set the names of the other sites."""
        self._passwords.update(passwords or {})
        self._peers = set(peers)
        self.spawn(self._attach_all())

    def spawn(self, work: Coroutine[Any, Any, _T]) -> "Future[_T]":
        """Start a coroutine in the event loop of the transport; once that is closed, it fails at once."""
        with self._starting:
            if not self._closed:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        failed: Future[_T] = Future()
        failed.set_exception(SiteUnreachable("The messages of this site have ended."))
        return failed

    async def client(self, account: str) -> "Client":
        """Return the connection in an account, which is made if there is none."""
        async with self._locks[account]:
            client: Client | None = self._clients.get(account)
            if client is None or client.is_closed:
                client = await self._nats.connect(
                    self._url,
                    user=account,
                    password=self._passwords.get(account, ""),
                    name=f"periplus {self._site}",
                    connect_timeout=_CONNECT_SECONDS,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=0.2,
                    pending_size=128 << 20,
                    error_cb=_log_error,
                )
                self._clients[account] = client
            return client

    def request(self, site: str, subject: str, body: bytes, deadline: float) -> bytes:
        """Return the answer of a site; raise `SiteUnreachable`."""
        try:
            return self.submit(site, subject, body, deadline).result(deadline + _CONNECT_SECONDS)
        except TimeoutError:
            raise unreachable(site, f"no answer within {deadline:g} s") from None

    def submit(self, site: str, subject: str, body: bytes, deadline: float) -> "Future[bytes]":
        """Return the future answer of a site."""
        return self.spawn(self._request(site, subject, body, deadline))

    async def _request(self, site: str, subject: str, body: bytes, deadline: float) -> bytes:
        if site not in self._peers:
            raise unreachable(site, "it is not a site of this federation")
        return await self._ask(site, site, subject, body, deadline)

    async def _ask(self, site: str, account: str, subject: str, body: bytes, deadline: float) -> bytes:
        errors = self._nats.errors
        try:
            async with asyncio.timeout(deadline):
                client = await self.client(account)
                self._count(site, sent=len(body))
                reply = await client.request(f"to.{site}.{subject}", body, timeout=deadline)
        except (TimeoutError, errors.TimeoutError):
            raise unreachable(site, f"no answer within {deadline:g} s") from None
        except errors.NoRespondersError:
            raise unreachable(site, "there is no way to it") from None
        except (errors.Error, OSError) as error:
            raise unreachable(site, str(error) or type(error).__name__) from error
        if reply.headers and _ERROR in reply.headers:
            raise SiteRefused(f"Site {site} refuses: {str(reply.headers[_ERROR])[:300]}")
        self._count(site, received=len(reply.data))
        return bytes(reply.data)

    def request_join(self, site: str, body: bytes, seconds: float) -> bytes:
        """Return the answer of a site to one that joins, over the link of the token; raise `SiteUnreachable`."""
        limit = time.monotonic() + seconds
        while True:
            try:
                return self.spawn(self._ask(site, JOIN_ACCOUNT, "join", body, 5.0)).result(seconds)
            except SiteRefused:
                raise
            except SiteUnreachable:
                if time.monotonic() > limit:
                    raise
            time.sleep(0.1)  # until the link is there

    def serve_join(self, handler: Callable[[bytes], bytes]) -> None:
        """Answer sites that have a token and join."""
        self._handlers["join"] = lambda sender, body: handler(body)
        self.spawn(self._attach_join())

    async def _attach_join(self) -> None:
        while not self._closed:
            try:
                client = await self.client(JOIN_ACCOUNT)
                answer = functools.partial(self._answer, JOIN_ACCOUNT, "join")
                await client.subscribe(f"to.{self._site}.join", queue="periplus", cb=answer)
                return
            except (self._nats.errors.Error, OSError, TimeoutError):
                await asyncio.sleep(_RETRY_SECONDS)

    def publish(self, site: str, subject: str, body: bytes, deadline: float) -> None:
        """Send a batch to a site; return when its stream has it on disk."""
        try:
            self.spawn(self._publish(site, subject, body, deadline)).result(deadline + _CONNECT_SECONDS)
        except TimeoutError:
            raise unreachable(site, f"no acknowledgement within {deadline:g} s") from None

    async def _publish(self, site: str, subject: str, body: bytes, deadline: float) -> None:
        errors = self._nats.errors
        identity = hashlib.blake2b(body, digest_size=16).hexdigest()
        try:
            async with asyncio.timeout(deadline):
                client = await self.client(site)
                self._count(site, sent=len(body))
                stream = client.jetstream(timeout=deadline)
                await stream.publish(f"sink.{site}.{subject}", body, headers={"Nats-Msg-Id": identity})
        except (TimeoutError, errors.TimeoutError):
            raise unreachable(site, f"no acknowledgement within {deadline:g} s") from None
        except (errors.Error, OSError) as error:
            raise unreachable(site, str(error) or type(error).__name__) from error

    def serve(self, subject: str, handler: RequestHandler) -> None:
        """Answer requests of other sites, in threads; several processes that serve a subject share the requests."""
        self._handlers[subject] = handler
        self.spawn(self._attach_all())

    def consume(self, handler: BatchHandler) -> None:
        """Hand the batches of other sites to `handler`, in the order of each site."""
        self._consumer = handler
        self.spawn(self._attach_all())

    async def _attach_all(self) -> None:
        """Subscribe to everything that is not subscribed to yet; a server that is down is tried again."""
        for peer in sorted(self._peers):
            if self._handlers or self._consumer is not None:
                task = self._tasks.get(f"attach {peer}")
                if task is None or task.done():
                    self._tasks[f"attach {peer}"] = asyncio.create_task(self._attach(peer))
                if self._consumer is not None and peer not in self._tasks:
                    self._tasks[peer] = asyncio.create_task(self._consume(peer))

    async def _attach(self, peer: str) -> None:
        while not self._closed and peer in self._peers:
            missing = [name for name in self._handlers if name != "join" and (peer, name) not in self._served]
            if not missing:
                return
            try:
                client = await self.client(peer)
                for subject in missing:
                    answer = functools.partial(self._answer, peer, subject)
                    await client.subscribe(f"to.{self._site}.{subject}", queue="periplus", cb=answer)
                    self._served.add((peer, subject))
                await client.flush()
            except (self._nats.errors.Error, OSError, TimeoutError):
                await asyncio.sleep(_RETRY_SECONDS)

    async def _answer(self, peer: str, subject: str, message: "Msg") -> None:
        """Answer a request in a thread, without holding up the next one."""
        self._count(peer, received=len(message.data))
        if self._waiting >= _MAX_REQUESTS or len(message.data) > _MAX_REQUEST_BYTES:
            reason = "it is busy" if self._waiting >= _MAX_REQUESTS else "the request is too large"
            await self._reply(peer, message, b"", reason)
            return
        self._waiting += 1
        task = asyncio.create_task(self._run(peer, subject, message))
        self._tasks[f"request {id(task)}"] = task
        task.add_done_callback(lambda done: self._tasks.pop(f"request {id(done)}", None))

    async def _run(self, peer: str, subject: str, message: "Msg") -> None:
        reply, error = b"", ""
        try:
            reply = await self._loop.run_in_executor(self._pool, self._handlers[subject], peer, bytes(message.data))
        except Exception as raised:
            error = str(raised) or type(raised).__name__
            _LOG.warning("A request of site %s for %s failed: %s", peer, subject, error)
        finally:
            self._waiting -= 1
        await self._reply(peer, message, reply, error)

    async def _reply(self, peer: str, message: "Msg", reply: bytes, error: str) -> None:
        if not message.reply:
            return
        client = await self.client(peer)
        headers = {_ERROR: " ".join(error.split())[:300] or "failed"} if error else None
        with contextlib.suppress(self._nats.errors.Error, OSError):
            await client.publish(message.reply, reply, headers=headers)
        self._count(peer, sent=len(reply))

    async def _consume(self, peer: str) -> None:
        """Apply the batches of one site, in order, for as long as it is a peer."""
        while not self._closed and peer in self._peers:
            try:
                client = await self.client(peer)
                stream = client.jetstream(timeout=_CONNECT_SECONDS)
                await self._make_stream(stream)
                subscription = await stream.pull_subscribe_bind(_CONSUMER, _STREAM)
                while not self._closed and peer in self._peers:
                    try:
                        messages = await subscription.fetch(8, timeout=_FETCH_SECONDS)
                    except self._nats.errors.TimeoutError:
                        continue
                    for message in messages:
                        await self._apply(peer, message)
            except (self._nats.errors.Error, OSError, TimeoutError) as error:
                _LOG.debug("Batches of site %s are not read: %s", peer, error)
            await asyncio.sleep(_RETRY_SECONDS)
        self._tasks.pop(peer, None)

    async def _make_stream(self, stream: Any) -> None:
        api = self._nats.js.api
        config = api.StreamConfig(
            name=_STREAM,
            subjects=[f"sink.{self._site}.>"],
            retention=api.RetentionPolicy.WORK_QUEUE,
            storage=api.StorageType.FILE,
            max_bytes=self._stream_bytes,
            discard=api.DiscardPolicy.NEW,
        )
        consumer = api.ConsumerConfig(
            durable_name=_CONSUMER,
            ack_policy=api.AckPolicy.EXPLICIT,
            ack_wait=_ACK_SECONDS,
            max_ack_pending=8,
        )
        try:
            await stream.add_stream(config)
        except self._nats.js.errors.BadRequestError:
            await stream.update_stream(config)
        await stream.add_consumer(_STREAM, consumer)

    async def _apply(self, peer: str, message: "Msg") -> None:
        """Apply one batch; if that fails, again after a while, so that batches stay in their order."""
        subject = message.subject.rpartition(".")[2]
        self._count(peer, received=len(message.data))
        while self._consumer is not None and not self._closed:
            work = self._loop.run_in_executor(self._pool, self._consumer, peer, subject, bytes(message.data))
            while not (await asyncio.wait({work}, timeout=_ACK_SECONDS / 3))[0]:
                await message.in_progress()
            error = work.exception()
            if error is None:
                with contextlib.suppress(self._nats.errors.Error, TimeoutError):
                    await message.ack_sync()  # if that is lost, it comes again, and is known
                return
            _LOG.warning("A batch of site %s is applied again later: %s", peer, error)
            await message.in_progress()
            await asyncio.sleep(_RETRY_SECONDS)

    def traffic(self) -> dict[str, TrafficCount]:
        """Return what was exchanged, by site."""
        return dict(self._traffic)

    def _count(self, site: str, *, sent: int = -1, received: int = -1) -> None:
        before = self._traffic[site]
        self._traffic[site] = TrafficCount(
            before.sent_bytes + max(sent, 0),
            before.received_bytes + max(received, 0),
            before.sent + (sent >= 0),
            before.received + (received >= 0),
        )

    def run(self, work: Coroutine[Any, Any, _T], seconds: float) -> _T:
        """Run a coroutine in the event loop; raise `SiteUnreachable` if it takes longer."""
        try:
            return self.spawn(work).result(seconds)
        except TimeoutError:
            raise SiteUnreachable(
                "The NATS server of this site does not answer.", "See: periplus site status."
            ) from None

    def close(self) -> None:
        """Close all connections; requests under way fail."""
        with self._starting:
            if self._closed:
                return
            self._closed = True
            # Whatever was started before has become a task when this begins to run, and is cancelled by it.
            ending = asyncio.run_coroutine_threadsafe(self._close(), self._loop)
        with contextlib.suppress(Exception):
            ending.result(_CONNECT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CONNECT_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _close(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for client in list(self._clients.values()):
            with contextlib.suppress(Exception):
                await client.close()


async def _log_error(error: Exception) -> None:
    _LOG.debug("NATS: %s", error)
