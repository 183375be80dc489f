#include "trainer/command_help.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/learners/learners.h"

namespace sortition {
namespace {

constexpr char kTrainHelp[] =
    R"(Learns a better policy from logs or from labels.

--learner=poem (the default) reads the tuple segments that the sidecar wrote:
each tuple is a decision with its propensity and its reward. It learns by
counterfactual risk minimisation (POEM, or another --objective and --optimiser)
at each point of a grid of lambda and l2, chooses the point by counterfactual
validation, and estimates its reward on tuples that it has not seen. It
publishes the next version of the model only if the lower confidence bound of
the improvement over the version that serves (pinned, or else the newest in the
store) is positive. Tuples of all versions train; only tuples that this one
logged validate and test.
--action=labels learns from what convert wrote; no server loads its models.

The other learners read queries with labelled candidates from --data (LETOR/
SVMlight with qid; with --features=SPEC columns as .tsv, .csv or .jsonl), train
at each point of a grid of lambda, and choose the point by validation queries.
They replace an existing version only if the expected
measure on test queries is better with confidence. The policy is random, so that
its log can be learned from: --inverse_temperature takes the smallest value that
keeps 95 % of the gain of the deterministic policy over chance (mpg: as
trained). --rank_policy says how rankings are drawn. Each learner has its own
group of options below. With --action=select, a learner of rankings selects one
candidate. ranksvm, hinge, listnet and regression can be pulled towards a
trusted order: set --trusted_order.weight and one of --trusted_order.feature,
.scores and .version.

)";

constexpr char kTrainExamples[] = R"(
  sortition-trainer train --tuples=DIR --model_store=DIR [--model=NAME] ...
  sortition-trainer train --learner=mpg --data=FILE[,FILE] --model_store=DIR
      --game.measure=DCG|GRADED_DCG|PRECISION|F_BETA [--game.k=N] ...
  sortition-trainer train --learner=ranksvm --data=FILE --validation=FILE
      --test=FILE --model_store=DIR [--rank_svm.lambda=X,...]
      [--trusted_order.feature=N --trusted_order.weight=0,X,...] ...
  sortition-trainer train --config=FILE.textproto

deploy/examples has a configuration for each learner.

Exit status: 0 published (or would be, with --dry_run), 1 error, 3 the log has
enough data and nothing better was found, 4 not enough data yet.
)";

}  // namespace

const char kEvaluateHelp[] =
    R"(Measures how good the rankings of a model are, or its labels.

Ranks the candidates of labelled queries (LETOR/SVMlight with qid; .tsv, .csv or
.jsonl with named columns) by the scores of a model in the store, or by scores
in a file, and prints metrics. Each metric follows one source's definition
(docs/metrics.md); the default is all metrics that LETOR 4.0's evaluation tool
prints. With --format=trec it judges a TREC run by TREC qrels. A model of sets
of labels (convert, train --action=labels) or of label chains (train
--learner=chain) has metrics of labels.

Metrics are means over all orders of candidates with equal scores. Queries with
nothing relevant are counted unless --skip_irrelevant_queries is set; the report
has their number.

  sortition-trainer evaluate --data=FILE[,FILE] --model_store=DIR [--model=NAME]
      [--metrics=letor,ndcg_linear@5,mrr,success@3] [--per_query=FILE.tsv]
  sortition-trainer evaluate --data=FILE --scores=FILE ...
  sortition-trainer evaluate --format=trec --run=FILE --qrels=FILE
      [--metrics=trec] [--skip_missing_queries]

Exit status: 0 printed, 1 error, 2 an option is wrong or missing.
)";

const char kScoreHelp[] =
    R"(Prints scores and probabilities of a version for the candidates of a file.

Scores and probabilities have the same bits as those of a server that loads the
version (return_scores and return_probabilities of a request), and no server is
needed. The probability is that of the candidate to be selected, to be at the
first rank, or to be in the subset, depending on the policy of the model. It is
exact; for an F-score game it is exact for the strategy that the search finds. A
selection that can abstain has one more line for each query, with document_index
-1.

One query is in memory at a time, so files may be of any size. Lines of a query
must be adjacent.

  sortition-trainer score --data=FILE[,FILE] --model_store=DIR [--model=NAME]
      [--version=N] [--output=json] > scores.tsv
  sortition-trainer score --data=FILE --model_store=DIR --output=trec
      --run_tag=NAME --qrels=FILE.qrels > run.txt

Columns are qid, document_index (from 0), id, label, score and probability. The
id of a candidate is "docid = ID" in the comment of a LETOR line, or the column
--id_column. A TREC run without ids has document indexes in place of ids.

Exit status: 0 printed, 1 error, 2 an option is wrong or missing.
)";

const char kFitHelp[] =
    R"(Publishes a first model from a few labelled queries.

Fits a logistic regression of relevance on the features of each candidate and
publishes it as the next version: for --action=select as softmax selection that
can abstain (candidates that are more likely irrelevant than relevant score
below abstaining), for --action=rank as Plackett-Luce. The uniform mixture and
the temperature make the policy explore, so that its log can be learned from. If
the model has a version already, only --force replaces it: nothing compares the
two.

With --features=SPEC (docs/features.md) the features are made of the columns of
a .tsv (question, sentence, label), .csv or .jsonl file.

  sortition-trainer fit --data=FILE --model_store=DIR [--model=NAME] ...
  sortition-trainer fit --data=FILE.tsv --features=SPEC --model_store=DIR ...

Exit status: 0 published, 1 error.
)";

const char kSuggestFeaturesHelp[] =
    R"(Drafts a spec of features from named columns.

Reads the columns of a log (--tuples) or of labelled queries (--data) and prints
a FeatureSpec, a text file for --features of train and fit. Comments say what
each column holds, why each transform is there, and which columns were left out:
constants, ids, columns whose type changes. Read it and change what you know
better. Labels and rewards are not looked at. `train --features=auto` does the
same and trains.

  sortition-trainer suggest-features --tuples=DIR --output=features.textproto
  sortition-trainer suggest-features --data=queries.csv

Exit status: 0 printed, 1 error, 4 the log has no tuple yet.
)";

const char kDescribeHelp[] =
    R"(Prints what a version of a model is made of.

Policy and learner; the schema of its columns, what its features learned from
the training queries and what they were like there; the size and objective of
its trees; and its heaviest weights with the names of what they multiply: f0,
f1, .. where callers send features.

  sortition-trainer describe --model_store=DIR [--model=NAME] [--version=N]

Exit status: 0 printed, 1 error.
)";

const char kCalibrateHelp[] =
    R"(Shows how random a policy is and finds a calibrated temperature.

For a version in the store and the queries of a log, prints for several inverse
temperatures alpha how often the policy abstains, how probable its best action
is, over how many actions it spreads, and its off-policy estimated reward; the
last row is the deterministic policy, which always takes the best action (MAP).
Finds the alpha at which the random policy abstains as often as the
deterministic one. That needs a policy that can abstain; for others, such as
rankings, only the table is printed.

For rankings by scores (plackett_luce, sorted_ranking) a second table compares
explorations of the same scores: what each costs in reward, how often it moves
the first rank, and how many decisions logged under it would tell a difference
of --delta between the present policy and another one (--against, or the same
scores at twice alpha). Name more of them by --explorations:

  pl:alpha=2:factors=4/2/1    Plackett-Luce; rank factors, the last one repeats
  sorted:swap=0.1             the order by score; ties swap with probability 0.1
  sorted:shuffle=0.05x10      with probability 0.05 the first 10 are shuffled
  sorted:swap=0.1:uniform=0.02    2 % of the orders are uniform; for pl, too

Without alpha= it is that of the version; without uniform= nothing is uniform.

With --publish --force the calibrated policy becomes the next version. It needs
--force because no gate compares the rewards: read the table first.

  sortition-trainer calibrate --tuples=DIR --model_store=DIR [--model=NAME] ...
  sortition-trainer calibrate --tuples=DIR --model_store=DIR
      --explorations=pl:factors=4/2/1,sorted:swap=0.2 --delta=0.01

Exit status: 0 done, 1 error, or no alpha gives the rate (the table is printed),
4 not enough data yet.
)";

const char kConvertHelp[] =
    R"(Makes bandit tuples from multi-label data.

Fits a logging policy (a logistic regression per label, by L-BFGS) to a random
part of the contexts, draws labels for all of them from it, and writes what a
log would keep: the context, the drawn labels, their exact propensity, and as
reward the share of the labels that is right. 'sortition-trainer train' and
'sortition log' read the segments. The output directory appears whole or not at
all.

  sortition-trainer convert --data=FILE.svm --output=DIR [--test=FILE.svm] ...

A line of the data is "label,label feature:value feature:value", labels from 0,
features from 1. With --model_store the logging policy is published, so that
train compares with it; no server can load it.

Exit status: 0 written, 1 error.
)";

const char kClusterHelp[] =
    R"(Shows which sources or queries of a log disagree.

Groups score lists of a log that rank candidates alike: k-means with a
Lovasz-Bregman divergence, which compares scores with an order, so that a source
that hardly distinguishes the candidates hardly counts. It reads the decisions
of 'sortition aggregate' (or of --model=NAME, each feature as a source).

  --of=sources  groups sources (engines, raters) over all decisions
  --of=lists    groups the lists of all decisions; candidates need ids
  --of=queries  groups decisions by the weighted mean of their lists; needs ids

Where only some candidates are to be compared (neighbours on a line, an editor's
judgements), --pairs=FILE names them; each source's share of pairs that it has
the other way round is printed, too.

Prints how well each number of groups fits, each group's members, its joint
order and how sure that order is (queries: also the mean reward), how far the
groups are from each other, and what they disagree about most. --picture draws
it.

  sortition-trainer cluster --tuples=DIR [--of=sources|lists|queries]
      [--clusters=K[,K]] [--pairs=FILE.csv] [--report=FILE.json]
      [--picture=FILE.svg] [--assignments=FILE.tsv]

Exit status: 0 printed, 1 error.
)";

const char kPublishHelp[] =
    R"(Publishes a model that exists already.

An older version becomes the newest again, under a new number: this is how to go
back. A model of another store is published after it has been tried there. What
is published answers the same calls with the same number of features as before.
No gate compares the two policies.

  sortition-trainer publish --model_store=DIR --from_version=6
      --reason="version 7 lost clicks on phones"
  sortition-trainer publish --model_store=DIR --file=staging/default/12
      --reason="tried on staging for a week"

Exit status: 0 published, 1 error.
)";

const char kPruneHelp[] =
    R"(Removes old versions of a model that nothing needs any more.

What stays: the newest --keep versions, what serves (pinned, or the newest that
loads), what SERVING.textproto names (labels, arms of a split, shadows) or
protects, what is younger than --older_than, and what the decisions of --log
need to be repeated (sortition log verify). Every version is listed with why it
stays. Numbers are never used again.

  sortition-trainer prune --model_store=DIR --log=SPOOL,TUPLES --dry_run
  sortition-trainer prune --model_store=DIR --log=SPOOL,TUPLES --keep=20
      --older_than=90d
  sortition-trainer prune --model_store=DIR --versions=3,4

Exit status: 0 done, 1 error.
)";

const char kRolloutHelp[] =
    R"(Lets a new version take over step by step, or go back.

--start pins the version that serves (stable) and gives the new one (canary) a
share of the units. Each later call is a step: it reads the tuples since the
start and moves on to the next share, waits, or goes back to 0, and says why in
a sentence with its numbers. After the last share the new version serves all.

  sortition-trainer rollout --start --version=8 --tuples=DIR --model_store=DIR
      [--plan.shares=0.01,0.1,0.5 --plan.margins=0.2,0.03,0.01]
  sortition-trainer rollout --tuples=DIR --model_store=DIR
      [--metrics=HOST:PORT,...] [--dry_run]       a step; cron or a loop runs it
  sortition-trainer rollout --status --model_store=DIR
  sortition-trainer rollout --stop --reason="..." --model_store=DIR

It goes back if the evidence that the new version earns less has reached 1 /
back_error, if a guardrail surely falls by more than it may, or if errors or
times are worse; it moves on if it is as sure that a loss above the margin of
the stage is refuted. Evidence may be looked at as often as one likes: the two
probabilities hold for all looks together. Whoever pins, splits or rolls back by
hand meanwhile ends the rollout: it never overrides a person. The options of
plan count when a rollout starts; <store>/<model>/ROLLOUT.textproto keeps them.

A step that cannot judge something, such as a guardrail whose file is broken,
does not move on, but may go back for the rest.

Exit status: 0 started, moved on, waits or stopped; 1 error, or not everything
could be judged; 3 went back.
)";

const char kClicksHelp[] =
    R"(Fits models of what users click to a log of rankings with rewards by rank.

A click is a reward of a rank above 0, or from --click_from on. Learns click
models (position-based, trust bias, cascade, dependent clicks, dynamic Bayesian
network) from most units, compares them on the others, and says which predicts
best and whether that is more than noise; how likely each rank is examined, with
intervals; what this log does not tell, because items were never moved; and,
where the probabilities of the logged orders are known, what they say of
examination without any model of attraction.

  sortition-trainer clicks --tuples=DIR [--models=position_based,cascade,...]
      [--items=ids|features|regression] [--report=FILE.json]
  sortition-trainer clicks --tuples=DIR --model_store=DIR --write=bias.textproto

The last line that it prints is an ope command that corrects for position.

Exit status: 0 printed, 1 error, or --write has nothing to write (the report is
printed), 4 not enough data yet.
)";

const char kOpeHelp[] =
    R"(Judges policies from a log that they did not write.

Reads the tuples of a log twice and says of each policy what it would have
earned, by every estimator that applies, with intervals that take decisions of
one unit (unit_id) together; how much more that is than what happened, or than
another policy, paired by decision; for whom, and when; what speaks against the
numbers; how much more log it takes to see an improvement; and what exploration
costs. Nothing is published.

  sortition-trainer ope --tuples=DIR --model_store=DIR
  sortition-trainer ope --tuples=DIR --policies=uniform,mine=mine.csv
  sortition-trainer ope --tuples=DIR --model_store=DIR --against=version:3
      --policies=version:3,newest,newest@temperature=2,newest@mixture=0.1
      --rewards=complaints=complaints.csv@horizon=7d@sparse
      --guardrails=complaints:0.01
      --report=judged.json --page=judged.html

A file of a policy has decision_id and, for each decision, the probabilities of
its candidates (p0, p1, ...), their scores, or a row for each candidate with
document_index and probability, as CSV or as JSON, one object in a line.
docs/judging_policies.md says which estimator to take when.

Exit status: 0 printed, 1 error, 4 not enough data yet.
)";

std::string LearnerTable(LearnersListed listed) {
  std::string text;
  absl::string_view data;
  for (const LearnerInfo& learner : ListLearners()) {
    if (listed == LearnersListed::kOfTrain &&
        learner.options == config::v1::TrainOptions::LEARNER_OPTIONS_NOT_SET) {
      continue;
    }
    if (learner.data != data) {
      absl::StrAppendFormat(&text, "Learners from %s:\n", learner.data);
    }
    data = learner.data;
    absl::StrAppendFormat(&text, "  %-10s  %s\n", learner.name, learner.help);
  }
  return text;
}

std::string TrainHelp() {
  return absl::StrCat(kTrainHelp, LearnerTable(LearnersListed::kOfTrain),
                      kTrainExamples);
}

}  // namespace sortition
