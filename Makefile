# Periplus: everything starts here. `make` lists what there is; nothing but Python 3.11 has to be installed first.

# Debian's own Python where it is complete: it is compiled with profiles, which those that people compile seldom are.
PYTHON ?= $(shell /usr/bin/python3.11 -c 'import ensurepip, venv; print("/usr/bin/python3.11")' 2>/dev/null || echo python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python scripts/install_locked.py
ARGS ?=
CODE := $(wildcard src tests scripts bench training)

# Newer than pyproject.toml and constraints.txt when the default, or the development, packages are installed.
RUN_READY := $(VENV)/.ready-run
DEV_READY := $(VENV)/.ready-dev

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow coverage lint types check quality learn-weights learn-first-stage bench-quality bench-parse bench-crawl bench-crawl-equality bench-traps bench-kills bench-faults bench-query bench-index bench-live bench-serve bench-starts bench-first-start bench-hostile-queries bench-attack bench-million bench-growth bench-maincontent bench-snippets bench-duplicates bench-frontier bench-spelling bench-language bench-synonyms bench-obvious bench-suggest bench-tiers bench-pagerank bench-pagerank-shards bench-wire bench-findable bench-embeddings bench-focus fuzz docs site site-serve pictures wheel audit sbom lock clean bench-sandbox bench-bombs bench-cluster-answers bench-cluster-crawl bench-partitioning bench-scale scale-page bench-cluster-serving demo-cluster demo-sites bench-cluster bench-cluster-kills bench-geo bench-sites bench-agents bench-docs-crawl bench-documents bench-rules

help: ## list these targets
	@echo 'Periplus: make TARGET'
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

setup: $(DEV_READY) ## install what development needs, and chromium where that is allowed
	@scripts/install-chromium
	@scripts/install-javascript-client
	@scripts/install-pywb

demo: $(RUN_READY) ## crawl a small generated web, index it and search it (ARGS=--once exits after the queries)
	@$(BIN)/periplus demo $(ARGS)

demo-cluster: $(DEV_READY) ## the demo on a Ray cluster of three nodes on this machine, one of which is killed (ARGS=--once)
	@$(BIN)/periplus cluster demo $(ARGS)

demo-sites: $(DEV_READY) ## three sites on this machine, far apart, one of which is cut off and returns (ARGS=--once)
	@$(BIN)/periplus site demo $(ARGS)

# More than there are cores: much of the time, a test waits for processes that it started, or for a clock.
TEST_WORKERS ?= 3

test: setup ## run all tests (TEST_WORKERS=3, ARGS= goes to pytest)
	@$(BIN)/python -c 'from periplus.app import compile_kernels; from periplus.cli import PlainObserver; compile_kernels(PlainObserver())'
	@$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal -q $(ARGS)

# What exercises kernels, on inputs that are small enough for kernels that are not compiled.
KERNEL_TESTS := $(wildcard tests/*/test_*_kernels*.py) tests/text tests/graph/test_graph_backlinks.py \
	tests/graph/test_graph_duplicates.py tests/graph/test_graph_pagerank.py tests/parse/test_parse_text_blocks.py \
	tests/index/test_index_against_naive.py tests/index/test_index_merge.py tests/index/test_index_words.py tests/index/test_index_site_blocks.py \
	tests/rank/test_features.py tests/rank/test_learning.py tests/score/test_score.py tests/search/test_snippets.py \
	tests/query/test_offers.py tests/query/test_query_limits.py tests/sites/placement/test_placement_kernels.py
KERNEL_RUN = $(BIN)/python -m pytest -n 2 --dist worksteal -q -W ignore::RuntimeWarning --hypothesis-profile=few -m 'not slow'

test-slow: setup ## kernel tests without the JIT and with bounds checks, then the tests marked slow
	@echo 'Kernels without compiling'
	@NUMBA_DISABLE_JIT=1 $(KERNEL_RUN) $(KERNEL_TESTS)
	@NUMBA_DISABLE_JIT=1 $(BIN)/python tests/parse/bounds_html.py 200
	@echo 'Kernels with checked bounds'
	@NUMBA_BOUNDSCHECK=1 $(KERNEL_RUN) $(KERNEL_TESTS) tests/parse
	@echo 'Tests marked slow'
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -m slow $(ARGS)

# Kernels with bounds checks are stored apart from the others: the first run compiles them.
fuzz: $(DEV_READY) ## fuzz every parser and reader, with new inputs each time (MINUTES=10 SEED= TARGET= REPLAY=file)
	@NUMBA_BOUNDSCHECK=1 $(BIN)/python tests/fuzz/fuzz_runner.py --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED)) \
		$(if $(TARGET),--target $(TARGET)) $(if $(REPLAY),--replay $(REPLAY))

coverage: setup ## line coverage: the total, the least covered modules, HTML in htmlcov (ARGS= goes to pytest)
	@$(BIN)/coverage erase
	@COVERAGE_FILE=$(CURDIR)/.coverage $(BIN)/coverage run -m pytest -n 2 --dist worksteal -q $(ARGS)
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage html -q
	@$(BIN)/coverage report --sort=cover --skip-covered --skip-empty | head -27
	@echo "Total: $$($(BIN)/coverage report --format=total) %. Line by line: htmlcov/index.html"

lint: $(DEV_READY) ## check style and formatting
	@$(BIN)/ruff check --quiet $(CODE)
	@$(BIN)/ruff format --quiet --check $(CODE)
	@echo 'lint: clean'

types: $(DEV_READY) ## check types, strictly
	@$(BIN)/mypy

check: ## lint, types and test: what continuous integration runs
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory types
	@$(MAKE) --no-print-directory test

quality: $(DEV_READY) ## search quality on judged collections, compared with BM25 (FOLDERS= KEEP= REPORT= ARGS=--ablate)
	@$(INSTALL) bench semantic
	@$(BIN)/periplus embeddings fetch || echo 'Without the model: the last column stays empty.'
	@$(BIN)/python bench/quality.py $(FOLDERS) $(if $(KEEP),--keep $(KEEP)) $(if $(REPORT),--report $(REPORT)) $(ARGS)

bench-quality: quality

learn-weights: $(DEV_READY) ## learn the weights of ranking from nine judged collections, each left out once (CACHE= ARGS='--words-only --dry-run')
	@$(INSTALL) bench semantic learn
	@$(BIN)/periplus embeddings fetch || echo 'Without the model: the weight of embeddings stays as it is.'
	@$(BIN)/python training/ranking/learn_weights.py $(if $(CACHE),--cache $(CACHE)) $(ARGS)

learn-first-stage: $(DEV_READY) ## learn the parameters of the first stage from judged collections, indexes in KEEP= (build/first-stage)
	@$(INSTALL) bench
	@$(BIN)/python training/ranking/learn_first_stage.py --keep $(or $(KEEP),build/first-stage) $(ARGS)

bench-crawl: $(DEV_READY) ## crawl speed compared with Scrapy, one core each, and by stage (PAGES=1000,3000,10000 SHARES=1,0.14 ROUNDS=1 SEEN=1000000,10000000)
	@$(INSTALL) bench
	@$(BIN)/python bench/crawl.py --pages $(if $(PAGES),$(PAGES),1000,3000,10000) --shares $(if $(SHARES),$(SHARES),1,0.14) --rounds $(or $(ROUNDS),1) --seen $(if $(SEEN),$(SEEN),1000000,10000000)

bench-crawl-equality: $(DEV_READY) ## whether a change of the crawler changed what it does (WRITE=FILE before, AGAINST=FILE after; TURN=1)
	@$(BIN)/python bench/crawl_equality.py $(if $(WRITE),--write $(WRITE)) $(if $(AGAINST),--against $(AGAINST)) $(if $(TURN),--turn $(TURN))

BENCH_OPTIONS = $(if $(CORPUS),--corpus $(CORPUS)) $(if $(SIZES),--sizes $(SIZES)) \
	$(if $(PEERS),--peers $(PEERS)) $(if $(WORDS),--words $(WORDS))

bench-query: $(DEV_READY) ## query speed compared with other engines (CORPUS= QUERIES= PEERS=tantivy,lucene,pisa,bm25s SIZES= K= KEEP=)
	@$(INSTALL) bench
	@$(BIN)/python bench/query.py $(BENCH_OPTIONS) $(if $(QUERIES),--queries $(QUERIES)) $(if $(K),--k $(K)) \
		$(if $(KEEP),--keep $(KEEP)) $(ARGS)

bench-index: $(DEV_READY) ## build speed and index size compared with other engines (CORPUS= PEERS= SIZES=)
	@$(INSTALL) bench
	@$(BIN)/python bench/build.py $(BENCH_OPTIONS) $(ARGS)

bench-parse: $(DEV_READY) ## HTML parsing compared with Lexbor, resiliparse and lxml (CORPUS=folder of HTML files ROUNDS=3)
	@$(INSTALL) bench
	@$(BIN)/python bench/parse.py $(if $(CORPUS),--corpus $(CORPUS)) --rounds $(or $(ROUNDS),3)

bench-sandbox: $(DEV_READY) ## documents parsed in limited processes, compared with parsing in the process itself (DOCUMENTS=600)
	@$(BIN)/python bench/sandbox_documents.py $(if $(DOCUMENTS),--documents $(DOCUMENTS)) $(ARGS)

bench-bombs: $(DEV_READY) ## crawl a web with every bomb, killed and restarted: what is stored, what each process takes (PAGES=25 KILLS=3)
	@$(BIN)/python bench/bombs.py $(if $(PAGES),--pages $(PAGES)) $(if $(KILLS),--kills $(KILLS)) $(ARGS)

bench-kills: $(DEV_READY) ## kill -9 a crawl at random moments, then check that nothing was lost (KILLS=200 SHARDS=3)
	@$(BIN)/python bench/kills.py --kills $(or $(KILLS),200) --shards $(or $(SHARDS),3)

bench-cluster: ## queries, crawl and PageRank of 1, 2 and 4 shards on this machine beside one
	@$(MAKE) --no-print-directory bench-cluster-serving
	@$(MAKE) --no-print-directory bench-cluster-crawl
	@$(MAKE) --no-print-directory bench-pagerank-shards

bench-cluster-kills: $(DEV_READY) ## kill crawl shards, nodes, coordinator, builds, brokers and replicas of a cluster, then check that nothing was lost (KILLS=60 SEED=1)
	@$(BIN)/python bench/cluster_kills.py --kills $(or $(KILLS),60) --seed $(or $(SEED),1) $(ARGS)

bench-faults: $(DEV_READY) ## power cuts, failing calls and damaged files for every operation and file kind (CUTS=30 FAULTS=10 FLIPS=200 ARGS=)
	@$(BIN)/python bench/faults.py --cuts $(or $(CUTS),30) --faults $(or $(FAULTS),10) --flips $(or $(FLIPS),200) $(ARGS)

bench-rules: $(DEV_READY) ## queries with a thousand blocked hosts beside the same without rules (DOCUMENTS=60000 ROUNDS=5 ARGS=)
	@$(BIN)/python bench/rules.py $(if $(DOCUMENTS),--documents $(DOCUMENTS)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(ARGS)

bench-live: $(DEV_READY) ## delay between publishing a page and finding it (DOCUMENTS=20000)
	@$(BIN)/python bench/live.py $(if $(DOCUMENTS),--documents $(DOCUMENTS))

bench-million: $(DEV_READY) ## a million documents, generated or passages of a corpus: build, check, search, serve (DOCUMENTS=1000000 WORKERS=1 CORPUS= QUERIES= WORDS=)
	@$(BIN)/python bench/million.py $(if $(DOCUMENTS),--documents $(DOCUMENTS)) $(if $(WORKERS),--workers $(WORKERS)) \
		$(if $(CORPUS),--corpus $(CORPUS)) $(if $(QUERIES),--queries $(QUERIES)) $(if $(WORDS),--words $(WORDS)) $(ARGS)

bench-growth: $(DEV_READY) ## build, size, memory and query times at three sizes, with exponents (SIZES=1000000,5000000,20000000 WORDS=24 ARGS=)
	@$(BIN)/python bench/growth.py $(if $(SIZES),--sizes $(SIZES)) $(if $(WORDS),--words $(WORDS)) $(ARGS)

bench-serve: $(DEV_READY) ## HTTP search under load: start, cold and warm cache, publishing, 1,000 clients (FOLDER= QUERIES= SECONDS=15 CROWD=120 NEW=0.1)
	@$(BIN)/python bench/serve.py $(if $(FOLDER),--folder $(FOLDER)) $(if $(CORPUS),--corpus $(CORPUS)) \
		$(if $(QUERIES),--queries $(QUERIES)) --seconds $(or $(SECONDS),15) --crowd-seconds $(or $(CROWD),120) \
		--new $(or $(NEW),0.1)

bench-starts: $(DEV_READY) ## starts of the server with 1, 2 and 4 processes, each met at once by 64 and 1,000 clients (STARTS=100)
	@$(BIN)/python bench/starts.py --starts $(or $(STARTS),100) $(ARGS)

bench-findable: $(DEV_READY) ## every page found by its title and by its own words, in mixed languages (CORPUS=file[:label] MAJORITY=file ROUNDS=3)
	@$(BIN)/python bench/findable.py $(foreach file,$(CORPUS),--corpus $(file)) $(if $(MAJORITY),--majority $(MAJORITY)) \
		--rounds $(or $(ROUNDS),3)

bench-first-start: $(DEV_READY) ## from a wheel to the first result in a new virtual environment, with kernels compiled there or before (WHEEL= ARGS=)
	@$(BIN)/python bench/first_start.py $(if $(WHEEL),--wheel $(WHEEL)) $(ARGS)

bench-hostile-queries: $(DEV_READY) ## worst-case queries beside ordinary ones over HTTP (FOLDER= CORPUS= QUERIES= HOSTILE=2000 RATE=40 WORKERS=1)
	@$(BIN)/python bench/hostile_queries.py $(if $(FOLDER),--folder $(FOLDER)) $(if $(CORPUS),--corpus $(CORPUS)) \
		$(if $(QUERIES),--queries $(QUERIES)) --hostile $(or $(HOSTILE),2000) --rate $(or $(RATE),40) --workers $(or $(WORKERS),1) $(ARGS)

bench-attack: $(DEV_READY) ## silent sockets, slow clients, worst-case queries and a hostile web beside ordinary use (SECONDS=300 CLIENTS=50)
	@$(BIN)/python bench/attack.py --seconds $(or $(SECONDS),300) --clients $(or $(CLIENTS),50)

bench-maincontent: $(DEV_READY) ## main content extraction compared with resiliparse and trafilatura, and flags (PAGES_FOLDER=... DOCS_FOLDER=... FLAG_PAGES=1000)
	@$(INSTALL) bench
	@$(BIN)/python bench/maincontent.py $(PAGES_FOLDER) $(if $(FLAG_PAGES),--flag-pages $(FLAG_PAGES))

bench-snippets: $(DEV_READY) ## snippets of documentation that show navigation: 0 (DOCS_FOLDER=... PAGES=200)
	@$(INSTALL) bench
	@$(BIN)/python bench/snippets.py $(if $(PAGES),--pages $(PAGES))

bench-embeddings: $(DEV_READY) ## tiers of embeddings: speed, size, gain over BM25, recall of neighbours (TIERS= TEXTS=400 QUERIES=60 SIZE=100000)
	@$(INSTALL) bench semantic
	@$(BIN)/python bench/encoders.py $(TIERS) $(if $(TEXTS),--texts $(TEXTS)) $(if $(QUERIES),--queries $(QUERIES)) $(if $(SIZE),--size $(SIZE))

bench-frontier: $(DEV_READY) ## growth of the frontier and of the table of duplicates at three sizes (SIZES=30000,300000,3000000)
	@$(BIN)/python bench/frontier.py $(if $(SIZES),--sizes $(SIZES)) $(ARGS)

bench-duplicates: $(DEV_READY) ## near-duplicates of the fake web by simhash: precision and recall (PAGES=3000 HOSTS=60)
	@$(BIN)/python bench/duplicates.py $(or $(PAGES),3000) $(or $(HOSTS),60)

bench-language: $(DEV_READY) ## language identification compared with fastText and CLD2 (CORPUS="FILE:LANG ..." ARGS=)
	@$(INSTALL) bench
	@$(BIN)/python bench/language.py $(foreach entry,$(CORPUS),--corpus $(entry)) $(ARGS)

bench-synonyms: $(DEV_READY) ## synonyms learned from anchor text, on generated webs with known truth
	@$(BIN)/python bench/synonyms.py

bench-agents: $(DEV_READY) ## what language models read: is the answer in the first tokens of /api/passages (QUESTIONS=1000)
	@$(BIN)/python bench/agents.py $(if $(QUESTIONS),--questions $(QUESTIONS))

bench-documents: $(DEV_READY) ## documents pushed over HTTP to an empty server, searchable when, facets and filters (DOCUMENTS=187721)
	@$(INSTALL) bench
	@$(BIN)/python bench/documents.py $(if $(DOCUMENTS),--documents $(DOCUMENTS)) $(ARGS)

bench-obvious: $(DEV_READY) ## everyday queries that have one obvious page: success@1 and @3 by kind (FOLDER= QUERIES= KEEP=)
	@$(BIN)/python bench/obvious.py $(if $(FOLDER),--collection $(FOLDER)) $(if $(QUERIES),--queries $(QUERIES)) \
		$(if $(KEEP),--keep $(KEEP)) $(ARGS)

bench-spelling: $(DEV_READY) ## misspellings corrected and correct words changed, on a real collection (FOLDER= QUERIES=log)
	@$(BIN)/python bench/spelling.py $(if $(FOLDER),--folder $(FOLDER)) $(if $(QUERIES),--queries $(QUERIES)) $(ARGS)

bench-suggest: $(DEV_READY) ## latency of completions over a million entries, with and without typing errors (ENTRIES=1000000)
	@$(BIN)/python bench/suggest.py $(if $(ENTRIES),--entries $(ENTRIES))

bench-tiers: $(DEV_READY) ## order of documents, and the first tier alone: size, time, nDCG (PART=articles KEEP= ARGS="--documents N")
	@$(BIN)/python bench/tiers.py $(if $(PART),--part $(PART)) $(if $(KEEP),--keep $(KEEP)) $(ARGS)

bench-cluster-crawl: $(DEV_READY) ## pages/s of 1, 2, 4 crawl shards with mailboxes and storage; with KILLS=40, kill them (ARGS=--try)
	@$(BIN)/python bench/cluster_crawl.py $(if $(KILLS),--kills $(KILLS)) $(ARGS)

bench-cluster-answers: $(DEV_READY) ## answers of several shards beside one index over the same pages (SHARDS=4 DOCUMENTS=all)
	@$(BIN)/python bench/cluster_answers.py $(if $(SHARDS),--shards $(SHARDS)) $(if $(DOCUMENTS),--documents $(DOCUMENTS)) $(ARGS)

bench-sites: $(DEV_READY) ## query forwarding between 3, 5 and 8 sites beside asking all of them (ARGS="--sites 5")
	@$(BIN)/python bench/sites.py $(ARGS)

bench-cluster-serving: $(DEV_READY) ## queries through a broker and 1, 2 and 4 shards beside one index (ARGS=--try)
	@$(BIN)/python -u bench/cluster_serving.py $(ARGS)

bench-wire: $(DEV_READY) ## messages of a broker and its shards: HTTP beside framed sockets (ARGS=--try)
	@$(BIN)/python bench/wire.py $(ARGS)

bench-pagerank: $(DEV_READY) ## PageRank compared with networkit and scipy, up to 100 M links (GRAPH= LINKS=1000000,... MEMORY=1536)
	@$(INSTALL) bench
	@$(BIN)/python bench/pagerank.py $(if $(GRAPH),--graph $(GRAPH)) $(if $(LINKS),--links $(LINKS)) $(if $(MEMORY),--memory $(MEMORY))

bench-pagerank-shards: $(DEV_READY) ## PageRank of cnr-2000 over several shards compared with one (GRAPH= SHARDS=1,2,4)
	@$(INSTALL) bench
	@$(BIN)/python bench/pagerank_shards.py $(if $(GRAPH),--graph $(GRAPH)) $(if $(SHARDS),--shards $(SHARDS))

bench-focus: $(DEV_READY) ## harvest rate of a focused crawl compared with breadth-first (HOSTS=200 PAGES=8000 FETCH=600)
	@$(BIN)/python bench/focus.py --hosts $(or $(HOSTS),200) --pages $(or $(PAGES),8000) --fetch $(or $(FETCH),600)

bench-partitioning: $(DEV_READY) ## an index split by documents and by terms over 2, 4 and 8 nodes (CORPUS= QUERIES= ARGS=)
	@$(BIN)/python bench/partitioning.py $(if $(CORPUS),--corpus $(CORPUS)) $(if $(QUERIES),--queries $(QUERIES)) $(ARGS)
	@$(BIN)/python scripts/write_scale.py

bench-scale: $(DEV_READY) ## fan-out latency and exchange of 1 to 4,096 shards, from measured shards (CORPUS= QUERIES= ARGS=)
	@$(BIN)/python bench/scale.py $(if $(CORPUS),--corpus $(CORPUS)) $(if $(QUERIES),--queries $(QUERIES)) $(ARGS)
	@$(BIN)/python scripts/write_scale.py

scale-page: $(DEV_READY) ## regenerate docs/scale.md, its pictures and the coefficients of `periplus plan` from bench/results
	@$(BIN)/python scripts/write_scale.py

bench-geo: $(DEV_READY) ## crawlers in several places, nearest against hash assignment, and placement of pages (GRAPH= ARGS=--try)
	@$(BIN)/python bench/geo.py $(if $(GRAPH),--graph $(GRAPH)) $(ARGS)

docs: $(RUN_READY) ## regenerate docs/settings.md, docs/commands.md and the tree in ARCHITECTURE.md
	@$(BIN)/python scripts/write_docs.py

site: $(DEV_READY) ## build the documentation as a site, and its search index, into build/ (PORT=8090)
	@$(BIN)/python scripts/site.py --port $(or $(PORT),8090) $(ARGS)

site-serve: $(DEV_READY) ## build the site and serve it with its search, done by Periplus (PORT=8090)
	@$(BIN)/python scripts/site.py --port $(or $(PORT),8090) --serve $(ARGS)

pictures: setup ## regenerate docs/pictures from the demo, in chromium
	@$(BIN)/python scripts/pictures.py $(ARGS)

audit: $(DEV_READY) ## look for known vulnerabilities in the locked packages; without a network, say so
	@$(BIN)/python scripts/audit.py

wheel: $(RUN_READY) ## build a wheel with compiled kernels for this kind of machine into dist/ (TARGET=x86-64-v3, native)
	@$(BIN)/python scripts/build_wheel.py $(if $(TARGET),--target $(TARGET))

sbom: $(DEV_READY) ## write the bill of materials of the default install, CycloneDX JSON, to build/ (GROUPS='run dev')
	@$(BIN)/python scripts/sbom.py build/periplus.cdx.json $(or $(GROUPS),run)

lock: ## regenerate constraints.txt with hashes from the newest versions that pyproject.toml allows (KEEP=1 keeps versions)
	@PYTHON=$(PYTHON) KEEP=$(KEEP) scripts/lock

clean: ## remove the virtual environment and all caches; data folders stay
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist screenshots htmlcov .coverage .coverage.*
	@find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@scripts/make-venv $(PYTHON) $(VENV)

# Every package is compared with its hash in constraints.txt, the build backend included.
$(RUN_READY): pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo 'Installing Periplus into $(VENV) (the first time takes a minute or two)'
	@$(INSTALL) build run
	@touch $@

$(DEV_READY): $(RUN_READY)
	@echo 'Installing what development needs'
	@$(INSTALL) dev
	@touch $@

bench-docs-crawl: $(DEV_READY) ## Debian's documentation crawled against an independent truth of what can be reached (ONLY=python,rust)
	@$(INSTALL) bench
	@$(BIN)/python bench/docs_crawl.py $(if $(ONLY),--only $(ONLY))

bench-traps: $(DEV_READY) ## what a crawl requests of 12 kinds of traps and of 12 sites that only look like traps (SEEDS="1 2 3")
	@$(BIN)/python bench/traps.py $(if $(SEEDS),--seeds $(SEEDS)) $(if $(PAGES),--pages $(PAGES))
