"""The process of one crawl shard: its mailbox, its crawler, its checkpoints. An actor or a plain process wraps it.

    runner = ShardRunner(folder, settings, number, key, checkpoints=...)
    runner.start()                      # restores the folder where needed, listens; crawls in a thread
    runner.exchange(plan)               # -> ShardReport; the coordinator does this, over HTTP or by a call
    runner.stop(); runner.join()

States of a shard, as the coordinator sees them:

    waiting   listens, and has no plan of the coordinator yet
    moving    the topology changes: requests in flight end, hosts are exported, those of others arrive
    running, idle, full, paused, stopping    as `CrawlStatus` says
    stopped   everything is on disk and in a checkpoint
    failed    the crawl ended with an error; see `fault`
"""

import contextlib
import secrets
import threading
import time
from pathlib import Path
from typing import Final, Protocol

import msgspec

from periplus.cluster.crawling.cluster_shard import ClusterShard
from periplus.cluster.crawling.mail_records import Envelope, MailState, ShardPlan, ShardReport
from periplus.cluster.crawling.mail_sender import MailSender
from periplus.cluster.crawling.mailbox_server import HttpAnswer, MailboxServer
from periplus.cluster.crawling.page_forwarder import PageForwarder
from periplus.cluster.wire.signing import ClusterKey
from periplus.crawl import ClusterCrawler, HostPartitioner
from periplus.errors import PeriplusError, StorageConflict
from periplus.settings import Settings
from periplus.typed_decoding import parse_msgpack

__all__ = ["CheckpointStore", "ShardRunner"]

_WAIT_SECONDS: Final = 0.05
_MAX_ADDRESS_PARTS: Final = 4096


class CheckpointStore(Protocol):
    """Where the checkpoints of a shard survive the loss of its machine."""

    def restore(self, folder: Path) -> bool:
        """Make a folder equal to the last checkpoint, unless it has all of it; return whether files were restored.

        From then on, no other process can store checkpoints of the shard.
        """

    def upload(self, folder: Path) -> None:
        """Store the folder, with the last snapshot; raise `StorageConflict` if another process has taken over."""


class ShardRunner:
    """Runs one crawl shard in threads of this process."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        number: int,
        key: ClusterKey,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        checkpoints: CheckpointStore | None = None,
        durable_seconds: float = 10.0,
    ) -> None:
        """Use `folder` alone; write a durable checkpoint at least every `durable_seconds`, if there is a store."""
        self._folder, self._settings, self._number, self._key = folder, settings, number, key
        self._host, self._port = host, port
        self._checkpoints, self._durable_seconds = checkpoints, durable_seconds
        self.instance = secrets.token_hex(8)
        self._plan: ShardPlan | None = None
        self._received = 0.0
        """When the coordinator's last plan arrived, in seconds of `time.monotonic`."""
        self._lock = threading.Lock()
        self._shard: ClusterShard | None = None
        self._crawler: ClusterCrawler | None = None
        self._sender: MailSender | None = None
        self._server: MailboxServer | None = None
        self._thread = threading.Thread(target=self._run, name=f"crawl-{number}", daemon=True)
        self._upload: threading.Thread | None = None
        self._checkpointed = 0.0
        self._conflict: StorageConflict | None = None
        self._restored_until = 0.0
        self._settled = 0
        self._forwarder: PageForwarder | None = None
        self._forwarded = 0
        self._forward_last: dict[int, int] = {}
        self._seeds: tuple[str, ...] = ()
        self._stops = self._stops_performed = 0
        self._state, self._fault = "waiting", ""

    @property
    def address(self) -> str:
        """'host:port' of the mailbox."""
        return self._server.address if self._server is not None else ""

    def start(self) -> None:
        """Restore the folder from the last checkpoint if it has not all of it; listen; crawl when there is a plan."""
        if self._checkpoints is not None and self._checkpoints.restore(self._folder):
            # Hosts that were found after the checkpoint are unknown: they may have been asked a moment ago.
            self._restored_until = time.monotonic() + self._settings.frontier.max_delay
        handlers = {"/mail": self._receive_mail, "/plan": self._receive_plan}
        self._server = MailboxServer(self._number, self._key, handlers, self._host, self._port)
        self._thread.start()

    def exchange(self, plan: ShardPlan) -> ShardReport:
        """Follow a plan of the coordinator, unless it is for another process or of an earlier coordinator; report."""
        self._learn_plan(plan, own=True, received=time.monotonic())
        return self.status()

    def status(self) -> ShardReport:
        """Return the state of the shard."""
        shard, state = self._shard, self._state
        report = ShardReport(
            number=self._number, instance=self.instance, state=state, fault=self._fault, address=self.address
        )
        if shard is None:
            return report
        current = shard.status
        if state == "running" and current.status is not None:
            state = "moving" if shard.is_held or shard.mail.awaiting else current.status.state
        return msgspec.structs.replace(
            report,
            state=state,
            incarnation=shard.plan.incarnation,
            serial=current.serial,
            epoch=current.epoch,
            settled=self._settled,
            forwarded=self._forwarded if self._is_committed(shard) else 0,
            is_drained=not shard.outbox.total()[0] and not shard.inbox.total()[0],
            status=current.status,
            written=dict(current.written),
            processed=dict(current.processed),
            seeds=self._seeds,
        )

    def _is_committed(self, shard: ClusterShard) -> bool:
        """Return whether the receivers of all forwarded pages can no longer lose them."""
        return not any(shard.outbox.up_to(receiver, number) for receiver, number in self._forward_last.items())

    def stop(self) -> None:
        """Ask for the end; a second call does not wait for requests in flight."""
        self._stops += 1

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end; return whether the shard has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Stop, wait, and release the mailbox."""
        self.stop()
        if self._thread.is_alive():
            self._thread.join()
        if self._server is not None:
            self._server.close()

    def traffic(self) -> dict[str, int]:
        """Return the bytes that were sent to and received from other shards."""
        sent = self._sender.sent_bytes if self._sender is not None else 0
        received = self._server.received_bytes if self._server is not None else 0
        return {"sent_bytes": sent, "received_bytes": received}

    def _receive_plan(self, body: bytes) -> HttpAnswer:
        try:
            plan = parse_msgpack(body, ShardPlan)
        except msgspec.MsgspecError:
            return HttpAnswer(400)
        if max(len(plan.addresses), len(plan.shards), len(plan.previous)) > _MAX_ADDRESS_PARTS:
            return HttpAnswer(400)
        return HttpAnswer(200, msgspec.msgpack.encode(self.exchange(plan)))

    def _receive_mail(self, body: bytes) -> HttpAnswer:
        try:
            envelope = parse_msgpack(body, Envelope)
        except msgspec.MsgspecError:
            return HttpAnswer(400)
        if envelope.receiver != self._number or not 0 <= envelope.sender < 1 << 16 or envelope.number >= 1 << 62:
            return HttpAnswer(400, b"The message is for another shard.")
        shard = self._shard
        if shard is None or self._crawler is None:
            return HttpAnswer(503, b"The shard is starting.", 1.0)
        reply = shard.accept(envelope)
        return HttpAnswer(429 if reply.state == "full" else 200, msgspec.msgpack.encode(reply), 1.0)

    def _learn_plan(self, plan: ShardPlan, own: bool = False, received: float = 0.0) -> None:
        """Follow a plan of the coordinator, or learn of a newer topology from another shard, without a lease."""
        with self._lock:
            current = self._plan
            if own:
                newer = current is None or (plan.term, plan.epoch) >= (current.term, current.epoch)
                if plan.instance == self.instance and plan.incarnation and newer:
                    self._plan, self._received = plan, max(received, self._received)
            elif current is not None and plan.epoch > current.epoch:
                common = {name: getattr(plan, name) for name in ("epoch", "shards", "previous", "addresses")}
                self._plan = msgspec.structs.replace(current, **common, forwards=False)

    def _run(self) -> None:
        try:
            while self._plan is None:
                if self._stops:
                    return
                time.sleep(_WAIT_SECONDS)
            self._open(self._plan)
            while self._turn():
                pass
            self._finish()
        except Exception as error:
            self._state, self._fault = "failed", f"{type(error).__name__}: {error}"
            if not isinstance(error, PeriplusError):
                raise
        finally:
            if self._sender is not None:
                self._sender.close()
            if self._crawler is not None:
                with contextlib.suppress(PeriplusError):
                    self._crawler.close()

    def _open(self, plan: ShardPlan) -> None:
        shard = ClusterShard(
            self._folder, self._number, plan, restored_until=self._restored_until, received=self._received
        )
        crawler = ClusterCrawler(self._folder, self._settings, plan.seeds, shard)
        shard.is_held = bool(shard.mail.awaiting)
        if not shard.has_snapshot and self._number in plan.previous:
            # How far pages were forwarded was lost with a damaged snapshot: all of them are sent again.
            shard.mail.forward_end = crawler.count_records()
        crawler.forward_reports(shard.forward_report)
        crawler.hold(shard.is_held)
        self._seeds = plan.seeds
        self._limit_addresses(crawler, len(shard.mail.shards))
        self._sender = MailSender(self._number, self._key, shard.outbox, self._learn_plan)
        self._sender.epoch = shard.mail.epoch
        self._forwarder = PageForwarder(shard, crawler)
        self._shard, self._crawler, self._state = shard, crawler, "running"
        self._checkpoint()

    def _limit_addresses(self, crawler: ClusterCrawler, shards: int) -> None:
        """Enforce a part of the limit by address: any shard may own hosts behind the same address."""
        limit = self._settings.frontier.per_address
        crawler.limit_addresses(max(1, limit // shards) if limit else 0)

    def _turn(self) -> bool:
        """Crawl one step; return whether to go on."""
        shard, crawler, sender, plan = self._parts()
        if self._conflict is not None:
            raise self._conflict
        if plan is not shard.plan:
            shard.renew(plan, self._received)
            sender.set_addresses(plan.addresses)
            self._stops = max(self._stops, int(plan.stopped))
        while self._stops_performed < self._stops:
            self._stops_performed += 1
            crawler.stop()
        if plan.epoch > shard.mail.epoch and not self._stops:
            self._export(plan)
        elif shard.is_held and not shard.mail.awaiting:
            self._resume(plan)
        elif new := [seed for seed in plan.seeds if seed not in self._seeds]:
            crawler.add_seeds(new)
        self._seeds = crawler.seeds()
        if plan.forwards and plan.epoch == shard.mail.epoch and self._forwarder is not None and not shard.is_held:
            self._forwarder.advance()
        is_going_on = crawler.step()
        sender.wake()
        if time.monotonic() - self._checkpointed >= self._durable_seconds:
            self._checkpoint()
        return is_going_on

    def _parts(self) -> tuple[ClusterShard, ClusterCrawler, MailSender, ShardPlan]:
        if self._shard is None or self._crawler is None or self._sender is None or self._plan is None:
            raise RuntimeError("the shard is not open")
        return self._shard, self._crawler, self._sender, self._plan

    def _export(self, plan: ShardPlan) -> None:
        """Start no more requests; once none is in flight, send the hosts that others own now, and use the new topology.

        What was exported, the new epoch and the frontier without the hosts are one snapshot. A process that is killed
        before it is written has changed nothing.
        """
        shard, crawler, sender, _ = self._parts()
        shard.is_held = True
        crawler.hold(True)
        if shard.mail.awaiting or not crawler.is_drained():
            return
        crawler.cancel_robots()
        shard.send(everything=True)
        owner = HostPartitioner(plan.shards).owner
        for receiver, part in crawler.export_hosts(owner, self._number, plan.shards):
            shard.write_transfer(receiver, part, plan.epoch)
        shard.begin_epoch(plan, crawler.count_records())
        sender.epoch = plan.epoch
        self._checkpoint(wait=True)

    def _resume(self, plan: ShardPlan) -> None:
        """Crawl again: all hosts have arrived. A snapshot has them before any of them is contacted."""
        shard, crawler, _, _ = self._parts()
        self._limit_addresses(crawler, len(shard.mail.shards))
        crawler.add_seeds(plan.seeds)
        self._checkpoint(wait=True)
        shard.is_held = False
        crawler.hold(False)

    def _checkpoint(self, wait: bool = False) -> None:
        """Write a snapshot and begin to make it durable; `wait` until it is."""
        shard, crawler, _, _ = self._parts()
        if self._upload is not None and self._upload.is_alive():
            if not wait:
                return
            self._upload.join()
        crawler.checkpoint()
        self._checkpointed = time.monotonic()
        mail = parse_msgpack(shard.dump_mail(), MailState)
        if self._checkpoints is None:
            self._note_durable(mail)
            return
        arguments = (self._checkpoints, mail)
        self._upload = threading.Thread(target=self._make_durable, args=arguments, name=f"upload-{self._number}")
        self._upload.start()
        if wait:
            self._upload.join()

    def _make_durable(self, checkpoints: CheckpointStore, mail: MailState) -> None:
        """Upload the folder, whose snapshot has `mail` or more. If that fails, messages stay uncommitted."""
        try:
            checkpoints.upload(self._folder)
        except StorageConflict as error:
            self._conflict = error
        except Exception as error:  # whatever it is, the next checkpoint is tried
            self._fault = str(error) or type(error).__name__
        else:
            self._fault = ""
            self._note_durable(mail)

    def _note_durable(self, mail: MailState) -> None:
        """Allow senders to delete what the checkpoint reflects, and send the hosts that it no longer has."""
        shard, _, sender, _ = self._parts()
        shard.commit(mail.processed)
        sender.release(mail.written)
        if not mail.awaiting:
            self._settled = mail.epoch
            if mail.forward_next >= mail.forward_end:
                self._forward_last, self._forwarded = mail.forward_last, mail.epoch

    def _finish(self) -> None:
        self._checkpoint(wait=True)
        _, crawler, _, _ = self._parts()
        crawler.close()
        self._state = "stopped"
