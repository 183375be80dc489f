"""What versions earn, whether their logs are good to learn from, what is published."""
from dashboards.panels import (buckets, dashboard, graph, heat_map, number, quantile, rate, section,
                               share, total, variable, window)

ALL = 'instance=~"$instance"'
MODEL = 'instance=~"$instance", model=~"$model"'
BY = "model, version"
LEGEND = "{{model}} {{version}}"
PROPENSITY = "sortition_propensity"

TUPLES = total(f"increase(sortition_sidecar_tuples_total{{{MODEL}}}[$window])", BY)


def grown(metric, labels=""):
    """By how much a counter grew in the last $window, also where a sidecar started anew."""
    return total(f"increase({metric}{{{MODEL}{labels}}}[$window])", BY)


def rewards(sign):
    return grown("sortition_sidecar_reward_total", f', sign="{sign}"')


# Mean reward and its standard error, of n tuples with the sums of rewards and of their squares.
MEAN = f"({rewards('positive')} - {rewards('negative')}) / {TUPLES}"
VARIANCE = f"clamp_min({grown('sortition_sidecar_reward_squares_total')} / {TUPLES} - ({MEAN}) ^ 2, 0)"
ERROR = f"sqrt({VARIANCE} / {TUPLES})"

# Newest version against the one before, since the sidecar's start.
NEWEST = f'sortition_sidecar_mean_reward{{{MODEL}, of="newest"}}'
PREVIOUS = f'sortition_sidecar_mean_reward{{{MODEL}, of="previous"}}'
DIFFERENCE = f"{NEWEST} - ignoring (of) {PREVIOUS}"
DIFFERENCE_ERROR = (f'sqrt(sortition_sidecar_mean_reward_error{{{MODEL}, of="newest"}} ^ 2 + '
                    f'ignoring (of) sortition_sidecar_mean_reward_error{{{MODEL}, of="previous"}} ^ 2)')


def below(bound):
    return rate(PROPENSITY + "_bucket", f'{ALL}, le="{bound}"')


COUNT = rate(PROPENSITY + "_count", ALL)

REWARDS = section(
    "What versions earn",
    graph("Mean reward of each version", "none", "Of the decisions whose windows closed in the last "
          "$window; dashed: 95 % interval, as if decisions were independent. Versions side by side "
          "in a split compare; others had other hours. `sortition-trainer ope` judges them by units.",
          (MEAN, LEGEND), (f"{MEAN} - 1.96 * {ERROR}", LEGEND + " lower"),
          (f"{MEAN} + 1.96 * {ERROR}", LEGEND + " upper"), width=16, dashed=" (lower|upper)"),
    graph("Newest against the version before", "none", "Difference of mean rewards since the "
          "sidecar's start, with its 95 % interval. Below 0 as a whole: sortition models rollback, "
          "then ask why the gate let it pass.",
          (DIFFERENCE, "{{model}}"), (f"{DIFFERENCE} - 1.96 * {DIFFERENCE_ERROR}", "{{model}} lower"),
          (f"{DIFFERENCE} + 1.96 * {DIFFERENCE_ERROR}", "{{model}} upper"), dashed=" (lower|upper)"),
    graph("Decisions behind the means", "none", "Tuples of the last $window that may be learned "
          "from. An interval needs hundreds, a small difference many thousands.", (TUPLES, LEGEND)),
    graph("Share with feedback", "percentunit", "Of the tuples of each version. If versions differ "
          "much, ask first whether feedback of one gets lost.",
          (share(total(f'increase(sortition_sidecar_tuples_total{{{MODEL}, has_feedback="true"}}'
                       "[$window])", BY), TUPLES), LEGEND), most=1),
    graph("Who decides", "percentunit", "Share of the answers of a model by version: splits, "
          "rollouts, labels.",
          (f"{rate('sortition_version_answers_total', MODEL, BY)} / on (model) group_left () "
           f"{rate('sortition_version_answers_total', MODEL, 'model')}", LEGEND), stacked=True))

HEALTH = section(
    "Health of propensities",
    heat_map("Propensities", "none", "Probability of what was selected or placed first. All at the "
             "top: nothing is explored, so nothing can be learned. Many at the bottom: estimates get "
             "wide.", buckets(PROPENSITY, ALL), width=16),
    graph("Tiny and certain", "percentunit", "Share of decisions that were drawn with at most 0.1 % "
          "or 1 %, and with more than 99 %. Tiny ones: fewer candidates, or a larger "
          "inverse_temperature. Certain ones: a larger uniform_mixture.",
          (f"{below('0.001')} / {COUNT}", "at most 0.1 %"), (f"{below('0.01')} / {COUNT}", "at most 1 %"),
          (f"1 - {below('0.99')} / {COUNT}", "above 99 %"), most=1),
    graph("Typical propensity", "none", "Off-policy estimates weigh decisions by its inverse.",
          *((quantile(q, PROPENSITY, ALL), name) for q, name in
            ((0.05, "5 %"), (0.5, "median"), (0.95, "95 %"))), most=1),
    graph("Abstentions", "percentunit", "Share of selections of no candidate. A rise after a swap: "
          "the new version is less sure, or candidates got worse.",
          (share(rate("sortition_abstentions_total", ALL),
                 rate("sortition_requests_total", ALL + ', method="Select", code="OK"')), "abstained"),
          most=1),
    graph("Interleaved", "percentunit", "Share of rankings that two versions made together. "
          "`sortition-trainer ope` says who is preferred.",
          (share(rate("sortition_interleaved_total", ALL),
                 rate("sortition_requests_total", ALL + ', method=~"Rank|RankStream", code="OK"')),
           "interleaved"),
          most=1))

LOST = section(
    "What cannot be learned from",
    graph("Censored tuples", "percentunit", "Share of tuples that learners leave out, because their "
          "feedback may be missing. The dashboard of the log has the reasons.",
          (share(rate("sortition_join_censored_tuples_total", ALL),
                 rate("sortition_join_tuples_total", ALL)), "censored")),
    graph("Late feedback", "percentunit", "Share of feedback that counts for nothing. Make the "
          "window longer, or report sooner.",
          (share(rate("sortition_join_late_total", ALL),
                 f"({rate('sortition_join_late_total', ALL)} + "
                 f"{rate('sortition_join_feedback_total', ALL)})"), "late")),
    graph("Drift", "none", "Population stability index of the columns and features that moved most. "
          "Above 0.25 they no longer look as in training: mend the caller, or train anew.",
          (f"topk(10, sortition_drift{{{MODEL}}})", "{{model}} {{version}} {{kind}} {{name}}")))

ASIDE = section(
    "Versions that look on, and the caller's baseline",
    graph("Shadows agree", "percentunit", "Share of decisions in which a shadow's most probable "
          "action was served.",
          (f"{rate('sortition_shadow_agreements_total', MODEL, BY)} / "
           f"{rate('sortition_shadow_views_total', MODEL, BY)}", LEGEND), most=1),
    graph("Propensity under shadows", "none", "Probability that a shadow gives to what was served. "
          "Near 0 it is hard to judge from this log.",
          (quantile(0.5, "sortition_shadow_propensity", MODEL, BY), LEGEND), most=1),
    graph("Views", "ops", "Decisions that shadows looked on at; dropped ones bias nothing, but are "
          "lost. Let shadows look on less often, or give shadow_queue_bytes more.",
          (rate("sortition_shadow_views_total", MODEL, BY), LEGEND),
          (rate("sortition_shadow_dropped_total", ALL), "dropped")),
    graph("Agreement with the baseline", "percentunit", "Mean probability that the model gives to the "
          "caller's own action: the share of decisions that would stay as they are. "
          "`sortition models describe` says which mode it suggests.",
          (f"{rate('sortition_baseline_propensity_total', MODEL, 'model, mode')} / "
           f"{rate('sortition_baseline_asked_total', MODEL, 'model, mode')}", "{{model}} {{mode}}"),
          most=1),
    graph("Same most probable action", "percentunit", "Share of the decisions of APPRENTICE and "
          "SHADOW in which model and baseline prefer the same.",
          (f"{rate('sortition_baseline_agreements_total', MODEL, 'model, mode')} / "
           f"{rate('sortition_baseline_modes_total', MODEL, 'model, mode')}", "{{model}} {{mode}}"),
          most=1),
    graph("Decisions with a baseline", "ops", "By mode.",
          (rate("sortition_baseline_decisions_total", MODEL, "model, mode"), "{{model}} {{mode}}")))

PUBLISHED = section(
    "What the trainer publishes",
    number("Serves", "none", "Version of each model; 0: uniform.",
           f"max by (model) (sortition_model_version{{{MODEL}}})", "{{model}}", width=6, bad_below=1),
    number("Since", "s", "Age of that version since its load. Above twice the schedule of training: "
           "see whether the trainer runs, and what its gate says.",
           f"max by (model) (sortition_model_age_seconds{{{MODEL}}})", "{{model}}", width=6),
    number("Loaded in $window", "none", "Versions that servers took up.",
           f"max by (model) (increase(sortition_model_loads_total{{{MODEL}}}[$window]))", "{{model}}",
           width=6),
    number("Refused versions", "none", "Versions in the store that no server takes; `sortition models "
           "list` says why.", f"max by (model) (sortition_model_rejected_versions{{{MODEL}}})",
           "{{model}}", width=6, bad_above=1),
    graph("Version that serves", "none", "Steps up are swaps, steps down rollbacks.",
          (f"max by (model) (sortition_model_version{{{MODEL}}})", "{{model}}"), steps=True, width=12),
    graph("Changes of what serves", "none", "Number of the change of SERVING.textproto in force: "
          "pins, splits, rollouts. `sortition models describe` has their reasons.",
          (f"max by (model) (sortition_model_serving_change{{{MODEL}}})", "{{model}}"), steps=True,
          width=12))

DASHBOARD = dashboard(
    "learning", "What versions earn, whether their logs are good to learn from, and what is "
    "published. docs/learning_from_logs.md and docs/judging_policies.md say how to judge it.",
    [variable("instance", "Process", "sortition_build_info"),
     variable("model", "Model", "sortition_model_version"),
     window("10m,1h,6h,1d,7d", "1h")],
    [REWARDS, HEALTH, LOST, ASIDE, PUBLISHED])
