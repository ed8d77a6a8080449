"""The stages of one query at a site of a federation: local answer first, then those sites that can improve it."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.query import QueryBudget, QueryPlan, Synonyms
from periplus.rank import RerankModel
from periplus.records import Hit, Query
from periplus.result_rules import RuleStore
from periplus.search import (
    RerankedCandidates,
    RetrievedCandidates,
    RetrieveReply,
    RetrieveRequest,
    ShardDescription,
    ShardedBackend,
    ShardedCollection,
    empty_reply,
    rerank,
)
from periplus.settings import FieldSettings, Settings
from periplus.sites.forwarding.federation import Federation, RemoteSite
from periplus.sites.forwarding.federation_record import (
    ANSWERED,
    FAILED,
    LOCAL,
    NOT_ASKED,
    SILENT,
    FederationRecord,
    SiteOutcome,
)
from periplus.sites.forwarding.forwarding_decision import Decision, LocalResults, decide_sites
from periplus.sites.forwarding.known_queries import summarise_answer
from periplus.sites.forwarding.plan_bounds import ScoreLimits, score_limits
from periplus.sites.forwarding.reply_check import IMPOSSIBLE, MALFORMED, check_retrieved
from periplus.sites.forwarding.site_group import SiteGroup
from periplus.sites.forwarding.site_views import SiteViews

__all__ = ["ForwardingBackend"]

_MIN_SECONDS: Final = 0.02
_MIN_RESULTS: Final = 10
"""Results that a corrected query is looked at by, however few the page has."""
_TOLERANCE: Final = 1 + 1e-4

_MAX_RULES_LENGTH: Final = 65_536
"""Characters of rules that are sent to other sites; of longer ones, this site applies its own copy alone."""


class ForwardingBackend(ShardedBackend):
    """Runs the stages of one query, in one thread."""

    blocks_only = True
    """The bounds of sites hold for scores as they are."""

    def __init__(
        self,
        federation: Federation,
        group: SiteGroup,
        collection: ShardedCollection,
        settings: Settings,
        model: RerankModel,
        synonyms: Synonyms,
        query: Query,
        rules: RuleStore | None = None,
    ) -> None:
        super().__init__(group, collection, settings, model, synonyms, rules)
        self._federation = federation
        self._sites = group
        self._query = query
        self._by_candidates = False
        """Whether the candidates themselves count, and not the results alone: for feedback."""
        self._outcomes: dict[int, SiteOutcome] = {}
        self._replicas = {
            number: replicas
            for number, replicas in federation.replicas.items()
            if number in collection.descriptions and replicas.generation == collection.descriptions[number].generation
        }
        self._from_replica: set[int] = set()
        self._rounds = 0
        self.remote_results: list[tuple[int, int, bool]] = []
        """Results of other sites: the site, the key of the page, whether it was a copy."""
        self._group = self  # Requests of later stages go to copies where these have answered for a site.

    @property
    def count(self) -> int:
        """How many sites there are."""
        return self._sites.count

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        """Send requests of later stages: to the copies at this site where these were used, otherwise to the sites."""
        own = {site: request for site, request in requests.items() if site in self._from_replica}
        others = {site: request for site, request in requests.items() if site not in own}
        replies = self._sites.call(method, others, seconds) if others else {}
        for site, request in own.items():
            replies[site] = getattr(self._replicas[site].shard, method)(request)
        return replies

    @property
    def fields(self) -> Mapping[str, FieldSettings]:
        """None: other sites are asked by words."""
        return {}

    def plan_early(self, query: Query) -> None:
        """Return that sites present nothing early: what strangers show is checked against what was asked of them."""

    def _expand(self, plan: QueryPlan, limit: int, budget: QueryBudget, feedback: str) -> QueryPlan:
        self._by_candidates = True
        try:
            return super()._expand(plan, limit, budget, feedback)
        finally:
            self._by_candidates = False

    def ask_shards(self, request: RetrieveRequest, plan: QueryPlan, seconds: float) -> dict[int, RetrieveReply]:
        """Return local candidates, and those of sites that can improve the results; an empty reply for the others."""
        began = time.monotonic()
        own = self._federation.own
        if plan.rules is not None:
            request = request._replace(rules=tuple(rules.source for rules in plan.rules.sets))
        answered = self.unpack({own: self._sites.local.retrieve(request)})
        taken = round((time.monotonic() - began) * 1000, 3)
        self._outcomes[own] = SiteOutcome(self._federation.names[own], LOCAL, milliseconds=taken)
        remote = self._remote_sites()
        copies = {number: self._replica_reply(number, request) for number in remote}
        limits = self._score_limits(request, plan)
        views = SiteViews(self._federation, plan, request, limits, self._replicas)
        open_sites = dict(remote)
        while True:
            replies = copies | answered
            merged = self.merge_replies(replies, plan)
            known = {
                number: views.view(site, self._sharded.descriptions[number]) for number, site in open_sites.items()
            }
            k = max(request.limit, self.model.depth)
            decisions = decide_sites(
                merged,
                k,
                self.model.depth,
                known,
                self._federation.settings.slack,
                lambda merged=merged: self._local_results(merged, request, limits),  # type: ignore[misc]
            )
            chosen = {number: open_sites.pop(number) for number, decision in decisions.items() if decision.ask}
            self._note_decisions(decisions)
            if not chosen:
                break
            left = seconds - (time.monotonic() - began)
            answered |= self._forward(chosen, request, plan, views, left)
            for number in chosen:
                copies.pop(number, None)
        self._from_replica = {number for number in copies if number in self._replicas}
        return copies | answered

    def merge_replies(self, replies: dict[int, RetrieveReply], plan: QueryPlan) -> RetrievedCandidates:
        """Return the candidates of sites as those of one index: of a page that several have, the best alone."""
        unasked = {number: reply._replace(early=None) for number, reply in replies.items()}
        return _drop_repeated(super().merge_replies(unasked, plan))

    def _remote_sites(self) -> dict[int, RemoteSite]:
        """Return the other sites that may be asked; those that may not are missing in the answer."""
        now, remote = time.monotonic(), {}
        for number in self._sharded.descriptions:
            if number == self._federation.own:
                continue
            site = self._federation.sites[number]
            if site.trust.may_ask(now):
                remote[number] = site
            else:
                self.missing.add(number)
                reason = site.trust.reason or "it has not answered lately"
                self._outcomes[number] = SiteOutcome(site.name, NOT_ASKED, reason)
        return remote

    def _replica_reply(self, number: int, request: RetrieveRequest) -> RetrieveReply:
        """Return the candidates of a site of which this one has copies: none without any."""
        replica = self._replicas.get(number)
        if replica is not None:
            reply = replica.shard.retrieve(request)
            if not replica.shard.is_ambiguous(request, reply):
                return self.unpack({number: reply})[number]
            del self._replicas[number]  # The site itself is asked: its bounds leave the copies out.
        description: ShardDescription = self._sharded.descriptions[number]
        return empty_reply(len(description.segments), description.generation)

    def _score_limits(self, request: RetrieveRequest, plan: QueryPlan) -> ScoreLimits | None:
        """Return how candidates are reranked; None where the candidates count, or reranking has no simple bound."""
        if self._by_candidates or request.dated or not plan.words:
            return None
        words = max(plan.words[-1].place + 1, len(plan.words))
        return score_limits(self.model, words) if self._federation.settings.by_results else None

    def _local_results(
        self, merged: RetrievedCandidates, request: RetrieveRequest, limits: ScoreLimits | None
    ) -> LocalResults | None:
        """Return the candidates at hand after reranking, as far as results are selected from them."""
        if limits is None or merged.home_page is not None or merged.similarities is not None:
            return None
        depth = min(len(merged.features), self.model.depth)
        reranked = rerank(merged, self.model, request.limit)
        most = self._settings.search.max_results
        end = min(max(0, self._query.start) + max(0, min(self._query.size, most)), most)
        wanted = msgspec.structs.replace(self._query, start=0, size=max(end, _MIN_RESULTS))
        selection, examined = self.select(reranked, wanted, QueryBudget())
        if len(selection.rows) < wanted.size or examined > depth:
            return None
        return LocalResults(self.model.scorer.score_candidates(merged.features[:depth]), examined)

    def _forward(
        self,
        chosen: Mapping[int, RemoteSite],
        request: RetrieveRequest,
        plan: QueryPlan,
        views: SiteViews,
        left: float,
    ) -> dict[int, RetrieveReply]:
        """Send one round of requests; return the replies that can be used."""
        seconds = max(_MIN_SECONDS, min(left, self._federation.settings.deadline_ms / 1000))
        sent = request._replace(seconds=seconds, limit=max(request.limit, self.model.depth))
        if sum(len(rules.text) for rules in request.rules) > _MAX_RULES_LENGTH:
            sent = sent._replace(plan=request.plan._replace(rules=()), rules=())
        self._rounds += 1
        replies = self._sites.remote.call("retrieve", dict.fromkeys(chosen, sent), seconds)
        usable: dict[int, RetrieveReply] = {}
        for number, site in chosen.items():
            answer = replies.get(number)
            if answer is None:
                site.trust.record_silence(time.monotonic())
                self._fail(number, SILENT, seconds)
                continue
            reply, fault = self._check(number, answer.reply, request, plan)
            if fault:
                self._fail(number, FAILED, answer.seconds)
                if fault == IMPOSSIBLE:
                    site.trust.record_impossible("it returned scores that no document can have")
                else:
                    site.trust.record_malformed()
                continue
            site.trust.record_answer()
            self._note(number, outcome=ANSWERED, milliseconds=round(answer.seconds * 1000, 3))
            usable[number] = reply
            self._learn(site, reply, request, plan, views)
        return usable

    def _check(self, number: int, reply: Any, request: RetrieveRequest, plan: QueryPlan) -> tuple[RetrieveReply, str]:
        """Return a reply with all columns of features, and what is wrong with it, '' for nothing.

        No reply can raise anything but what this catches.
        """
        try:
            reply = self.unpack({number: reply}).get(number)
            description = self._sharded.descriptions[number]
            return reply, check_retrieved(number, reply, request, plan, self.model.depth, description)
        except (AttributeError, TypeError, ValueError, IndexError):
            return reply, MALFORMED

    def _learn(
        self, site: RemoteSite, reply: RetrieveReply, request: RetrieveRequest, plan: QueryPlan, views: SiteViews
    ) -> None:
        """Compare a reply with the bound of the site, and remember it for the same query."""
        retrieved = reply.retrieved
        bound = views.term_bounds.get(site.number)
        if bound is not None and reply.generation == bound.generation:
            best = float(retrieved.scores[~np.isin(retrieved.keys, bound.copies)].max(initial=-1.0))
            named = {(item.segment, item.document) for item in request.plan.named if item.shard == site.number}
            if best > max(bound.first, 0.0) * _TOLERANCE and not named:
                site.trust.record_understated(best, bound.first)
        if reply.generation != self._sharded.descriptions[site.number].generation or retrieved.partial:
            return
        shares: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None
        if views.limits is not None and len(retrieved.features):
            scorer, rows = self.model.scorer, np.nan_to_num(retrieved.features, nan=0.0)
            shares = scorer.score_candidates(rows), scorer.score_candidates(rows, similar=False)
        wanted = max(request.limit, self.model.depth)
        summary = summarise_answer(retrieved, shares, reply.generation, wanted)
        self._federation.known.add(views.key, site.name, summary, views.leaves)

    def _ask_for_others(
        self,
        candidates: RerankedCandidates,
        shown: Sequence[int],
        related: Sequence[int],
        query: Query,
        budget: QueryBudget,
        hits: dict[int, Hit],
        titles: dict[int, tuple[str, str]],
    ) -> None:
        super()._ask_for_others(candidates, shown, related, query, budget, hits, titles)
        counts: dict[int, int] = {}
        for row in hits:
            owner = self._columns.shard_of(int(candidates.segments[row]))[0]
            counts[owner] = counts.get(owner, 0) + 1
            if owner != self._federation.own:
                self.remote_results.append((owner, int(candidates.keys[row]), owner in self._from_replica))
        for number, count in counts.items():
            is_copy = number in self._from_replica
            self._note(number, results=count, copies=count if is_copy else 0)
            if number != self._federation.own and not is_copy:
                self._federation.sites[number].trust.record_contribution()

    def _fail(self, number: int, outcome: str, seconds: float) -> None:
        self.missing.add(number)
        self._note(number, outcome=outcome, milliseconds=round(seconds * 1000, 3))

    def _note_decisions(self, decisions: Mapping[int, Decision]) -> None:
        for number, decision in decisions.items():
            before = self._outcomes.get(number)
            if before is None or before.outcome == NOT_ASKED:  # A query that is relaxed or corrected retrieves again.
                bound = decision.bound if decision.bound is not None and math.isfinite(decision.bound) else None
                self._note(number, reason=decision.reason, bound=bound, threshold=decision.threshold)

    def _note(self, number: int, **changes: Any) -> None:
        before = self._outcomes.get(number) or SiteOutcome(self._federation.names[number], NOT_ASKED)
        self._outcomes[number] = msgspec.structs.replace(before, **changes)

    def record(self) -> FederationRecord:
        """Return what the query did at all sites."""
        names = self._federation.names
        missing = {n: SiteOutcome(name, SILENT, "nothing is known of it") for n, name in enumerate(names)}
        return FederationRecord(tuple((missing | self._outcomes).values()), self._rounds)


def _drop_repeated(merged: RetrievedCandidates) -> RetrievedCandidates:
    """Return candidates, best first, without those whose key a better one has: other versions of the same page."""
    count = len(merged.keys)
    first = np.unique(merged.keys, return_index=True)[1]
    if len(first) == count:
        return merged
    rows = np.sort(first)
    return merged._replace(
        segments=merged.segments[rows],
        documents=merged.documents[rows],
        scores=merged.scores[rows],
        keys=merged.keys[rows],
        features=merged.features[rows[rows < len(merged.features)]],
        total=max(len(rows), merged.total - (count - len(rows))),
        days=merged.days[rows] if len(merged.days) == count else merged.days,
        static=merged.static[rows] if len(merged.static) == count else merged.static,
        similarities=merged.similarities[rows] if merged.similarities is not None else None,
    )
