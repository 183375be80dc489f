"""What the servers answer, how fast, and what they refuse."""
from dashboards.panels import (buckets, dashboard, graph, heat_map, number, quantile, rate, section,
                               share, total, variable)

ALL = 'instance=~"$instance"'
MODEL = 'instance=~"$instance", model=~"$model"'
SERVER = 'job="sortition-server", instance=~"$instance"'
DECISIONS = ALL + ', method=~"Rank|Select|Label|RankStream"'
BAD = ALL + ', code=~"UNKNOWN|DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED|INTERNAL|UNAVAILABLE|DATA_LOSS"'

REQUESTS = "sortition_requests_total"
SECONDS = "sortition_request_seconds"
ANSWERS = "sortition_version_answers_total"

NOW = section(
    "Now",
    number("Servers down", "none", "Servers that Prometheus does not reach: they are down or cut off. "
           "Look at their logs, and at their machines.",
           f"count(up{{{SERVER}}} == 0) or vector(0)", bad_above=1),
    number("Servers not ready", "none", "Servers whose health check does not say SERVING: they drain, "
           "wait for their model (require_model), or their log takes no records.",
           f"count(sortition_ready{{{ALL}}} == 0) or vector(0)", bad_above=1),
    number("Requests", "reqps", "Answered requests per second, refused ones included.",
           rate(REQUESTS, ALL)),
    number("Errors", "percentunit", "Share of requests that failed for a reason of the server. "
           "Above 0.1 % see the panel of answers by code.",
           share(rate(REQUESTS, BAD), rate(REQUESTS, ALL)), bad_above=0.001),
    number("p99 of decisions", "s", "One decision in a hundred takes longer. If it rises: too few "
           "threads, too little CPU, or larger requests.",
           quantile(0.99, SECONDS, DECISIONS), bad_above=0.1),
    number("Version that serves", "none", "The newest or the pinned version of each model; 0: "
           "answers are drawn uniformly, because no good version is in the store.",
           f"max by (model) (sortition_model_version{{{MODEL}}})", "{{model}}", bad_below=1))

REQUESTS_SECTION = section(
    "Requests",
    graph("Requests by method", "reqps", "What callers ask. A sudden change is a change of callers.",
          (rate(REQUESTS, ALL, "method"), "{{method}}"), stacked=True),
    graph("Answers other than OK", "reqps", "By code: RESOURCE_EXHAUSTED overload or a full log, "
          "DEADLINE_EXCEEDED overload, UNAVAILABLE draining or a failing disk, INVALID_ARGUMENT a "
          "caller's mistake, INTERNAL a bug.",
          (rate(REQUESTS, ALL + ', code!="OK"', "method, code"), "{{method}} {{code}}")),
    graph("Share of errors", "percentunit", "Of each server, without mistakes of callers. The alert "
          "SortitionErrors fires above 0.1 %.",
          (share(rate(REQUESTS, BAD, "instance"), rate(REQUESTS, ALL, "instance")), "{{instance}}")),
    graph("Latency of decisions", "s", "From taking up a request to sending its answer, without the "
          "network. Compare with the deadlines of callers.",
          *((quantile(q, SECONDS, DECISIONS), f"{name} %") for q, name in
            ((0.5, "50"), (0.9, "90"), (0.99, "99"), (0.999, "99.9")))),
    heat_map("Latency of decisions, all of them", "s", "Two bands are two kinds of requests, or of "
             "machines; look at methods and instances one by one.", buckets(SECONDS, DECISIONS)),
    graph("p99 by method", "s", "Which method is slow. Aggregate with bootstrap samples and large "
          "F-score games may take long; they have threads of their own (long_call_threads).",
          (quantile(0.99, SECONDS, ALL, "method"), "{{method}}")),
    graph("Refused because of overload", "reqps", "By the limit (admission.*) that refused. If it "
          "lasts: more threads, more servers, or fewer requests.",
          (rate("sortition_requests_refused_total", ALL, "reason"), "{{reason}}"), stacked=True),
    graph("Calls that wait for a thread", "none", "Short calls should not wait for more than a "
          "moment; long ones wait for long_call_threads.",
          (total(f"sortition_calls_waiting{{{ALL}}}", "class"), "{{class}}")),
    graph("Connections and answers given up", "ops", "Connections refused or ended because "
          "descriptors are short, and answers that callers did not take. Raise the limit of "
          "descriptors, or find the callers.",
          (rate("sortition_connections_refused_total", ALL), "refused"),
          (rate("sortition_connections_ended_total", ALL), "ended"),
          (rate("sortition_answers_dropped_total", ALL), "answers dropped")))

CALLS = section(
    "Calls, as go-grpc-prometheus names them",
    graph("Calls in work", "none", "Begun and not ended. Streams stay open; other calls that pile "
          "up wait for the disk or for a thread.",
          (f"sum by (grpc_method) (grpc_server_started_total{{{ALL}}}) - "
           f"(sum by (grpc_method) (grpc_server_handled_total{{{ALL}}}) or "
           f"0 * sum by (grpc_method) (grpc_server_started_total{{{ALL}}}))", "{{grpc_method}}")),
    graph("Calls by code", "ops", "All services, health checks included; a stream counts once, when "
          "it ends.", (rate("grpc_server_handled_total", ALL, "grpc_code"), "{{grpc_code}}")),
    graph("Messages of streams", "ops", "Requests and answers of RankStream. Answers that fall "
          "behind are not taken by their callers, or wait for the disk.",
          (rate("grpc_server_msg_received_total", ALL + ', grpc_type="bidi_stream"'), "received"),
          (rate("grpc_server_msg_sent_total", ALL + ', grpc_type="bidi_stream"'), "sent")))

MODELS = section(
    "Models",
    graph("Version that serves", "none", "Servers of one store should agree within poll_seconds.",
          (f"max by (instance, model) (sortition_model_version{{{MODEL}}})",
           "{{model}} at {{instance}}"), steps=True),
    graph("Age of that version", "s", "Since it was loaded. If it exceeds twice the schedule of "
          "training, the trainer or its gate publishes nothing.",
          (f"max by (model) (sortition_model_age_seconds{{{MODEL}}})", "{{model}}")),
    graph("Answers by version", "ops", "Which versions decide: the one that serves, arms of a split, "
          "and what requests name.", (rate(ANSWERS, MODEL, "model, version"), "{{model}} {{version}}"),
          stacked=True),
    graph("Errors by version", "percentunit", "A version that fails more than the one beside it "
          "should go back: sortition models rollback.",
          (share(rate(ANSWERS, MODEL + ', code!="OK"', "model, version"),
                 rate(ANSWERS, MODEL, "model, version")), "{{model}} {{version}}")),
    graph("Mean time of a decision", "s", "By version. Trees and hidden units cost time.",
          (f"{rate('sortition_version_seconds_total', MODEL, 'model, version')} / "
           f"{rate(ANSWERS, MODEL, 'model, version')}", "{{model}} {{version}}")),
    graph("Versions refused", "none", "Versions in the store that no server takes. `sortition models "
          "list` says why; publish again.",
          (f"max by (model) (sortition_model_rejected_versions{{{MODEL}}})", "{{model}}"), steps=True),
    graph("Trouble with the store", "none", "1: SERVING.textproto is not in force. The other line "
          "counts failed looks at the store: no new version is taken meanwhile.",
          (f"max by (model) (sortition_model_serving_error{{{MODEL}}})", "state of {{model}}"),
          (f"sum(increase(sortition_model_list_failures_total{{{ALL}}}[$__rate_interval]))",
           "failed looks")),
    graph("Memory of parameters", "bytes", "Of all loaded versions; at most model_memory_bytes. "
          "Retired ones go with their last request.",
          (f"sum by (model) (sortition_model_loaded_bytes{{{MODEL}}})", "{{model}}"),
          (f"sum(sortition_model_retired_bytes{{{ALL}}})", "retired")),
    graph("Answers that fall short", "percentunit", "Share of decisions with less than was asked "
          "for: uniform, fewer candidates than top_k, a game that ran out of time.",
          (share(rate("sortition_degraded_total", ALL), rate("sortition_candidates_count", ALL)),
           "degraded")))

ASKED = section(
    "What is asked",
    graph("Candidates of a decision", "none", "Time and log grow with them.",
          (quantile(0.5, "sortition_candidates", ALL), "median"),
          (quantile(0.99, "sortition_candidates", ALL), "99 %")),
    graph("Candidates that Label chooses", "none", "Sizes of the subsets.",
          (quantile(0.5, "sortition_chosen", ALL), "median"),
          (quantile(0.99, "sortition_chosen", ALL), "99 %")),
    graph("Games that ran out of time", "percentunit", "Share of F-score games. Above a few percent: "
          "a larger tolerance in the model, fewer candidates, or more limits.max_game_seconds.",
          (share(rate("sortition_games_stopped_total", ALL), rate("sortition_game_rounds_count", ALL)),
           "stopped")),
    graph("Rounds of a game", "none", "Many rounds take long.",
          (quantile(0.5, "sortition_game_rounds", ALL), "median"),
          (quantile(0.99, "sortition_game_rounds", ALL), "99 %")),
    graph("Gap of a game", "none", "How far a strategy may be from the value of its game: what "
          "stopped games cost.", (quantile(0.99, "sortition_game_gap", ALL), "99 %")),
    graph("Aggregate", "ops", "Calls, and those whose order was drawn.",
          (rate("sortition_aggregate_sources_count", ALL), "all"),
          (rate("sortition_aggregates_drawn_total", ALL), "drawn")))

PROCESS = section(
    "Processes",
    graph("Processor", "percentunit", "Cores that the server uses; near `threads` it is overloaded.",
          (f"rate(process_cpu_seconds_total{{{SERVER}}}[$__rate_interval])", "{{instance}}")),
    graph("Memory", "bytes", "Resident. It follows models and requests in work, and should be level.",
          (f"process_resident_memory_bytes{{{SERVER}}}", "{{instance}}")),
    graph("Descriptors", "percentunit", "Share of the limit that is open, mostly connections. Near 1 "
          "new connections are refused.",
          (f"process_open_fds{{{SERVER}}} / process_max_fds{{{SERVER}}}", "{{instance}}")),
    graph("Up since", "s", "Falls to 0 at each start. Several falls in a row: look at the log's last "
          "lines before them.",
          (f"time() - process_start_time_seconds{{{SERVER}}}", "{{instance}}"), width=24))

DASHBOARD = dashboard(
    "serving", "What the servers answer, how fast, and what they refuse. docs/operations.md explains "
    "each metric.",
    [variable("instance", "Server", "sortition_ready"),
     variable("model", "Model", "sortition_model_version")],
    [NOW, REQUESTS_SECTION, CALLS, MODELS, ASKED, PROCESS])
