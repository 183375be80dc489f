// Files as other programs write them, one shape after the other, and what the
// import makes of each. docs/foreign_files.md is this list for users.
#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "io/segments/shown_action.h"
#include "tests/client/export/exchange_fixture.h"

namespace sortition {
namespace {

// A shape of a file. `text` may have several lines.
struct Shape {
  const char* format;
  const char* habit;        // What is particular about the file.
  const char* consequence;  // What the import makes of it.
  std::string text;
  std::vector<std::string> flags = {};
  // Expected: FactsOf() all tuples; or the error, if there are none.
  std::vector<std::string> tuples = {};
  std::string error = "";
  std::vector<std::string> report = {};  // Parts of the report's text.
};

// Leaves out the hash at the end of an id that the import made up.
std::string WithoutHash(const std::string& id) {
  constexpr size_t kDigits = 8;
  if (id.size() <= kDigits + 1) return id;
  const size_t dash = id.size() - kDigits - 1;
  const bool is_hash =
      id[dash] == '-' &&
      std::all_of(id.begin() + static_cast<ptrdiff_t>(dash) + 1, id.end(),
                  absl::ascii_isxdigit);
  return is_hash ? id.substr(0, dash) : id;
}

// Facts of a tuple that importers read, in one line. Numbers have six digits.
std::string FactsOf(const log::v1::BanditTuple& tuple) {
  const log::v1::Decision& decision = tuple.decision();
  std::string facts = absl::StrCat(
      WithoutHash(decision.decision_id()), ": action ",
      absl::StrJoin(decision.action(), ","), " p ",
      std::exp(decision.log_propensity()), " reward ", tuple.reward());
  if (!tuple.has_feedback()) facts += " no feedback";
  if (decision.time_us() != 0) {
    absl::StrAppend(&facts, " time ", decision.time_us());
  }
  if (!decision.unit_id().empty()) {
    absl::StrAppend(&facts, " unit ", decision.unit_id());
  }
  if (tuple.keep_probability() != 0) {
    absl::StrAppend(&facts, " keep ", tuple.keep_probability());
  }
  if (!decision.eligible().empty()) {
    absl::StrAppend(&facts, " eligible ",
                    absl::StrJoin(decision.eligible(), ""));
  }
  for (const log::v1::Feedback& feedback : tuple.feedback()) {
    absl::StrAppend(&facts, " [", feedback.feedback_id(), "=",
                    feedback.reward());
    if (feedback.has_rank()) {
      absl::StrAppend(&facts, "@", feedback.rank());
    }
    facts += "]";
  }
  if (decision.can_abstain()) facts += " abstain";
  if (ShownDiffers(tuple)) facts += " overridden";
  return facts;
}

// Returns the features of each candidate: values in the order of their columns.
std::string FeaturesOf(const log::v1::Decision& decision) {
  if (decision.has_columns()) {
    std::vector<std::string> columns;
    for (const v1::Column& column : decision.columns().candidate()) {
      columns.push_back(absl::StrCat(
          column.name(), "=", absl::StrJoin(column.numbers().values(), ",")));
    }
    return absl::StrJoin(columns, " ");
  }
  std::vector<std::string> rows;
  for (uint32_t i = 0; i < decision.num_candidates(); ++i) {
    std::vector<float> row;
    if (decision.has_sparse()) {
      const v1::SparseFeatures& sparse = decision.sparse();
      for (uint32_t k = sparse.row_offsets(static_cast<int>(i));
           k < sparse.row_offsets(static_cast<int>(i) + 1); ++k) {
        row.push_back(sparse.values(static_cast<int>(k)));
      }
      std::sort(row.begin(), row.end());  // Columns are hashes.
    } else {
      for (uint32_t j = 0; j < decision.num_features(); ++j) {
        row.push_back(decision.dense_values(
            static_cast<int>(i * decision.num_features() + j)));
      }
    }
    rows.push_back(absl::StrJoin(row, " "));
  }
  return absl::StrJoin(rows, " | ");
}

// An event of the decision service with the id `id`, whose second of two
// candidates was chosen with probability 0.5 and brought a reward of 1. `more`
// is further members.
std::string Event(const std::string& id, const std::string& more = "",
                  const std::string& multi = R"({"T":{"x":1}},{"T":{"x":2}})",
                  const std::string& shared = "") {
  return absl::StrCat(
      R"({"_label_cost":-1,"_label_probability":0.5,"_label_Action":2,)",
      R"("_labelIndex":1,"EventId":")", id, R"(","a":[2,1],"c":{)", shared,
      R"("_multi":[)", multi, R"(]},"p":[0.5,0.5],"VWState":{"m":"N/A"})", more,
      "}\n");
}

// An event without feedback, whose reward is therefore 0.
std::string Silent(const std::string& id, const std::string& more = "") {
  return absl::StrReplaceAll(Event(id, more),
                             {{"\"_label_cost\":-1", "\"_label_cost\":0"}});
}

// An order of two ranks among three candidates.
std::string Order(const std::string& slots = R"({"_id":"0"},{"_id":"1"})",
                  const std::string& first = "") {
  return absl::StrCat(
      R"({"EventId":"a","c":{"_multi":[{"T":{"x":1}},{"T":{"x":2}},)",
      R"({"T":{"x":3}}],"_slots":[)", slots, R"(]},"_outcomes":[)",
      R"({"_label_cost":-1,"_a":[2,0],"_p":[0.25,0.75])", first,
      R"(},{"_label_cost":0,"_a":[0],"_p":[1]}]})", "\n");
}

const std::string kHash = "--hash_bits=20";

// Vowpal Wabbit and what logs for it.
std::vector<Shape> DsjsonShapes() {
  const std::string one = "a: action 1 p 0.5 reward 1";
  const std::string silent = "a: action 1 p 0.5 reward 0 no feedback";
  const std::string reward =
      R"({"RewardValue":3,"EnqueuedTimeUtc":"2021-04-26T17:24:00Z",)"
      R"("EventId":"a"})"
      "\n";
  std::vector<Shape> shapes = {
      {"dsjson",
       "an event of the decision service",
       "a selection",
       Event("a", R"(,"o":[{"v":1,"EventId":"a"}],)"
                  R"("Timestamp":"2021-04-26T17:23:28.17Z")"),
       {kHash},
       {one + " time 1619457808170000 [=1]"}},
      {"dsjson",
       "no EventId",
       "the id is of file, line and text; the report counts them",
       absl::StrReplaceAll(Event("a"), {{R"("EventId":"a",)", ""}}),
       {kHash},
       {"IN:1: action 1 p 0.5 reward 1 no feedback"},
       "",
       {"1 decisions without an id, named after their line and text"}},
      {"dsjson",
       "an EventId that is a number",
       "its digits are the id",
       absl::StrReplaceAll(Event("a"), {{R"("a","a":)", R"(120,"a":)"}}),
       {kHash},
       {"120: action 1 p 0.5 reward 1 no feedback"}},
      {"dsjson",
       "times without a zone",
       "UTC, or `--time_zone`; the report counts them",
       Event("a", R"(,"Timestamp":"2021-04-26T17:23:28.17")"),
       {kHash},
       {one + " no feedback time 1619457808170000"},
       "",
       {"1 times without a zone, read as UTC"}},
      {"dsjson",
       "times without a zone, `--time_zone` given",
       "in that zone",
       Event("a", R"(,"Timestamp":"2021-04-26 17:23:28.17")"),
       {kHash, "--time_zone=Fixed/UTC+02:00:00"},
       {one + " no feedback time 1619450608170000"},
       "",
       {"1 times without"}},
      {"dsjson",
       "a time that is no time",
       "refused: must be a date or number",
       Event("a", R"(,"Timestamp":"yesterday")"),
       {kHash},
       {},
       "Timestamp is 'yesterday', must be a number since 1970"},
      {"dsjson",
       "`pdrop` (the log was sampled)",
       "keep_probability = 1 - pdrop",
       Event("a", R"(,"pdrop":0.75)"),
       {kHash},
       {one + " no feedback keep 0.25"}},
      {"dsjson",
       "keys that are not known",
       "not used; the report counts each key",
       Event("a", R"(,"deviceType":"tv")"),
       {kHash},
       {one + " no feedback"},
       "",
       {"not used   1 values of the key 'deviceType'"}},
      {"dsjson",
       "features without `--hash_bits` or `--features`",
       "refused: names both options",
       Event("a", "", R"({"T":{"x":1}},{"T":7})"),
       {},
       {},
       "--hash_bits takes features of any names"},
      {"dsjson",
       "`_skipLearn`: an action that was never activated",
       "left out and counted",
       Event("a") + Event("b", R"(,"_skipLearn":true)"),
       {kHash},
       {one + " no feedback"},
       "",
       {"1 decisions that were never activated (_skipLearn)"}},
      {"dsjson",
       "`_skipLearn`, and an outcome with `ActionTaken`",
       "taken: it was activated",
       Event("a", R"(,"_skipLearn":true,"o":[{"ActionTaken":true},)"
                  R"({"v":1,"EventId":"a"}])"),
       {kHash},
       {one + " [=1]"}},
      {"dsjson",
       "`_skipLearn`, and an activation in a line of its own",
       "taken: it was activated",
       Event("a", R"(,"_skipLearn":true)") +
           R"({"EventId":"a","ActionTaken":true})" + "\n",
       {kHash},
       {one + " no feedback"}},
      {"dsjson",
       "`_skipLearn` and `_action_shown`: something else was shown",
       "a decision that was overridden",
       Event("a", R"(,"_skipLearn":true,"_action_shown":false)"),
       {kHash},
       {one + " no feedback overridden"}},
      {"dsjson",
       "an activation of an unknown decision",
       "counted",
       Event("a") + R"({"EventId":"b","ActionTaken":true})" + "\n",
       {kHash},
       {one + " no feedback"},
       "",
       {"1 activations that no decision waits for"}},
      {"dsjson",
       "a reward in a line of its own, after its decision",
       "joined",
       Silent("a") + reward,
       {kHash},
       {"a: action 1 p 0.5 reward 3 [=3]"},
       "",
       {"assumed    1 decisions whose reward is the earliest of lines"}},
      {"dsjson",
       "a reward in a line of its own, before its decision",
       "joined",
       reward + Silent("a"),
       {kHash},
       {"a: action 1 p 0.5 reward 3 [=3]"}},
      {"dsjson",
       "several rewards in lines of their own",
       "the earliest is joined",
       Silent("a") + reward +
           absl::StrReplaceAll(reward, {{"17:24", "17:23"}, {":3,", ":5,"}}),
       {kHash},
       {"a: action 1 p 0.5 reward 5 [=5]"}},
      {"dsjson",
       "a reward in a line of its own, of an unknown decision",
       "counted",
       reward + Silent("b"),
       {kHash},
       {"b: action 1 p 0.5 reward 0 no feedback"},
       "",
       {"1 rewards of no decision that was taken"}},
      {"dsjson",
       "a reward in a line of its own, of a decision with feedback",
       "counted; the feedback stands",
       Event("a", R"(,"o":[{"v":1,"EventId":"a"}])") + reward,
       {kHash},
       {one + " [=1]"},
       "",
       {"whose decision has feedback already"}},
      {"dsjson",
       "several outcomes with the EventId of the decision",
       "outcomes without an id of their own",
       Event("a", R"(,"o":[{"v":1,"EventId":"a"},{"v":2,"EventId":"a"}])"),
       {kHash},
       {one + " [=1] [=2]"}},
      {"dsjson",
       "outcomes with ids of their own",
       "the ids are kept",
       Event("a", R"(,"o":[{"v":1,"EventId":"x"}])"),
       {kHash},
       {one + " [x=1]"}},
      {"dsjson",
       "an outcome that is no number",
       "feedback; the reward is minus `_label_cost`",
       Event("a", R"(,"o":[{"v":{"rating":5},"EventId":"a"}])"),
       {kHash},
       {one}},
      {"dsjson",
       "an EventId twice",
       "refused: names `--repeated_ids`",
       Event("a") + Silent("a"),
       {kHash},
       {},
       ":2: decision id 'a' was given before"},
      {"dsjson",
       "an EventId twice, `--repeated_ids=first`",
       "the first; the report counts the others",
       Event("a") + Silent("a"),
       {kHash, "--repeated_ids=first"},
       {one + " no feedback"},
       "",
       {"1 decisions with the id of another one"}},
      {"dsjson",
       "an EventId twice, `--repeated_ids=last`",
       "the last; the report counts the others",
       Event("a") + Silent("a"),
       {kHash, "--repeated_ids=last"},
       {silent},
       "",
       {"1 decisions with the id of another one"}},
      {"dsjson",
       "markers such as `[CHECKPOINT 7]`",
       "counted",
       "[CHECKPOINT 7]\n" + Event("a"),
       {kHash},
       {one + " no feedback"},
       "",
       {"1 markers of the logging system"}},
      {"dsjson",
       "empty lines",
       "counted",
       "\n" + Event("a") + " \n",
       {kHash},
       {one + " no feedback"},
       "",
       {"2 empty lines"}},
      {"dsjson",
       "a UTF-8 byte order mark",
       "skipped",
       "\xef\xbb\xbf" + Event("a"),
       {kHash},
       {one + " no feedback"}},
      {"dsjson",
       "lines that end in CR LF",
       "read",
       absl::StrReplaceAll(Event("a"), {{"\n", "\r\n"}}),
       {kHash},
       {one + " no feedback"}},
      {"dsjson",
       "one JSON array of all events",
       "refused: names `jq`",
       "[" + Event("a") + "]",
       {kHash},
       {},
       ":1: the file is a JSON array"},
      {"dsjson",
       "a last line that is cut",
       "refused, or `--skip_bad`",
       Event("a") + R"({"_label_cost":-1,"_la)",
       {kHash},
       {},
       ":2: column"},
      {"dsjson",
       "a propensity of 0",
       "refused",
       absl::StrReplaceAll(Event("a"), {{"y\":0.5", "y\":0"}}),
       {kHash},
       {},
       "propensity is 0, must be in (0, 1]"},
      {"dsjson",
       "no `_label_cost`: an event without its outcome",
       "refused",
       absl::StrReplaceAll(Event("a"), {{"\"_label_cost\":-1,", ""}}),
       {kHash},
       {},
       "_label_cost is missing"},
      {"dsjson",
       "probabilities that do not sum to 1",
       "read, with a warning",
       absl::StrReplaceAll(Event("a"), {{"[0.5,0.5]", "[0.5,0.25]"}}),
       {kHash},
       {one + " no feedback"},
       "",
       {"WARNING    1 decisions whose probabilities do not sum to 1"}},
      {"dsjson",
       "`p[0]` that is not `_label_probability`",
       "`_label_probability`, with a warning",
       absl::StrReplaceAll(Event("a"), {{"[0.5,0.5]", "[0.25,0.75]"}}),
       {kHash},
       {one + " no feedback"},
       "",
       {"1 decisions whose propensity is not the first of their"}},
      {"dsjson",
       "slates (`_slot_id`)",
       "refused: names the key",
       Event("a", "", R"({"_slot_id":0,"T":{"x":1}},{"_slot_id":1})"),
       {kHash},
       {},
       "c._multi[]._slot_id: slates cannot be imported"},
      {"dsjson",
       "continuous actions (`_label_ca`)",
       "refused: names the key",
       R"({"_label_ca":{"action":1.5,"cost":0,"pdf_value":0.1},"EventId":"a",)"
       R"("c":{"User":{"x":1}}})"
       "\n",
       {kHash},
       {},
       "_label_ca: continuous actions cannot be imported"},
      {"dsjson",
       "conditional bandits (`_outcomes`)",
       "an order; the reward is minus the sum of the costs",
       Order(),
       {kHash},
       {"a: action 2,0 p 0.25 reward 1 no feedback"}},
      {"dsjson",
       "outcomes of slots (`_outcomes[]._o`)",
       "feedback of the rank",
       Order(R"({"_id":"0"},{"_id":"1"})", R"(,"_o":[{"v":1,"EventId":"a"}])"),
       {kHash},
       {"a: action 2,0 p 0.25 reward 1 [=1@0]"}},
      {"dsjson",
       "slots that choose from the same `_inc`",
       "the others are not eligible",
       Order(R"({"_inc":[0,2]},{"_inc":[2,0]})"),
       {kHash},
       {"a: action 2,0 p 0.25 reward 1 no feedback eligible 101"}},
      {"dsjson",
       "slots whose `_inc` differ",
       "refused: names the key",
       Order(R"({"_inc":[1,2]},{"_inc":[0,2]})"),
       {kHash},
       {},
       "c._slots[1]._inc differs from c._slots[0]._inc"},
      {"dsjson",
       "null where a member may be absent",
       "absent",
       Event("a",
             R"(,"o":null,"pdrop":null,"Timestamp":null,"_label_ca":null)"),
       {kHash},
       {one + " no feedback"}},
      {"dsjson",
       "an outcome whose `v` is null",
       "no feedback; it may activate the action",
       Silent("a", R"(,"_skipLearn":true,"o":[{"v":null,"EventId":"a",)"
                   R"("ActionTaken":true}])") +
           reward,
       {kHash},
       {"a: action 1 p 0.5 reward 3 [=3]"}},
      {"dsjson",
       "a line with a reward and an activation",
       "both are used",
       Silent("a", R"(,"_skipLearn":true)") +
           R"({"EventId":"a","RewardValue":3,"ActionTaken":true})" + "\n",
       {kHash},
       {"a: action 1 p 0.5 reward 3 [=3]"}},
      {"dsjson",
       "rewards in lines of their own, one without a time",
       "the earliest of those with a time is joined",
       Silent("a") + R"({"EventId":"a","RewardValue":7})" + "\n" + reward,
       {kHash},
       {"a: action 1 p 0.5 reward 3 [=3]"}},
      {"dsjson",
       "a reward of a slot in a line of its own (`Index`)",
       "counted",
       Silent("a") + R"({"EventId":"a","RewardValue":3,"Index":"0"})" + "\n",
       {kHash},
       {silent},
       "",
       {"1 rewards of single slots in lines"}},
      {"dsjson",
       "`_deferred`: the older form of `_skipLearn`",
       "left out unless an outcome has `DeferredAction` false",
       Event("a", R"(,"_deferred":true,"o":[{"EventId":"a",)"
                  R"("DeferredAction":false}])") +
           Event("b", R"(,"_deferred":true)"),
       {kHash},
       {one + " no feedback"},
       "",
       {"1 decisions that were never"}},
      {"dsjson",
       "an EventId twice, behind an event that is activated",
       "the last copy with `--repeated_ids=last`",
       Event("a", R"(,"_skipLearn":true)") + Event("b") + Silent("b") +
           R"({"EventId":"a","ActionTaken":true})" + "\n",
       {kHash, "--repeated_ids=last"},
       {one + " no feedback", "b: action 1 p 0.5 reward 0 no feedback"}},
      {"dsjson",
       "a copy that was activated, and one that needed no activation",
       "the last copy with `--repeated_ids=last`",
       Event("a", R"(,"_skipLearn":true)") + Silent("a") +
           R"({"EventId":"a","ActionTaken":true})" + "\n",
       {kHash, "--repeated_ids=last"},
       {silent}},
      {"dsjson",
       "a `_skipLearn` order with an activated slot",
       "taken",
       absl::StrReplaceAll(
           Order(R"({"_id":"0"},{"_id":"1"})",
                 R"(,"_o":[{"EventId":"a","ActionTaken":true}])"),
           {{R"({"EventId":"a","c")",
             R"({"_skipLearn":true,"EventId":"a","c")"}}),
       {kHash},
       {"a: action 2,0 p 0.25 reward 1 no feedback"}},
      {"dsjson",
       "an empty `_inc`",
       "all candidates are eligible",
       Order(R"({"_inc":[]},{"_inc":[]})"),
       {kHash},
       {"a: action 2,0 p 0.25 reward 1 no feedback"}},
      {"dsjson",
       "`_a` and `_p` that are no lists",
       "read",
       absl::StrReplaceAll(Order(), {{"[2,0]", "2"}, {"[0.25,0.75]", "0.25"}}),
       {kHash},
       {"a: action 2,0 p 0.25 reward 1 no feedback"}},
      {"dsjson",
       "a probability of 1.0000001",
       "1",
       absl::StrReplaceAll(Event("a"), {{"y\":0.5", "y\":1.0000001"}}),
       {kHash},
       {"a: action 1 p 1 reward 1 no feedback"}},
      {"dsjson",
       "times such as `2021-04-13 15:08:46 UTC`",
       "read",
       Event("a", R"(,"Timestamp":"2021-04-13 15:08:46 UTC")"),
       {kHash, "--time_zone=Fixed/UTC+02:00:00"},
       {one + " no feedback time 1618326526000000"}},
      {"dsjson",
       "numbered features in several namespaces",
       "refused: names both options",
       Event("a", "", R"({"T":[1,2]},{"U":[1,2]})"),
       {},
       {},
       "features are in the namespaces 'T' and 'U'"},
      {"all",
       "compression by gzip or zstd",
       "refused: names the command",
       "\x1f\x8b\x08 compressed",
       {"--format=dsjson"},
       {},
       "is compressed by gzip, must be UTF-8 text; 'zcat "},
      {"all",
       "text in UTF-16",
       "refused: names `iconv`",
       std::string("\xff\xfe{\0", 4),
       {"--format=jsonl"},
       {},
       "is text in UTF-16, must be UTF-8 text; 'iconv "},
      {"dsjson",
       "a key twice in an event",
       "refused",
       Event("a", R"(,"EventId":"b")"),
       {kHash},
       {},
       "the key 'EventId' is there twice"},
      {"dsjson",
       "features of slots",
       "not used; the report counts them by namespace",
       Order(R"({"size":{"big":1}},{"_id":"1"})"),
       {kHash},
       {"a: action 2,0 p 0.25 reward 1 no feedback"},
       "",
       {"1 features of slots (c._slots[].size)"}},
  };
  return shapes;
}

std::vector<Shape> JsonlShapes() {
  const std::string tail =
      R"("features":[[1],[2]],"action":[1],"propensity":0.5,"reward":1)";
  const std::string one = "a: action 1 p 0.5 reward 1";
  const auto line = [&](const std::string& more) {
    return absl::StrCat(R"({"id":"a",)", tail, more, "}\n");
  };
  return {
      {"jsonl",
       "the short form",
       "a selection; \"no answer\" counts as an action, which the report says",
       line(""),
       {},
       {one + " abstain"},
       "",
       {"assumed    1 decisions for which \"no answer\" is taken to be"}},
      {"jsonl",
       "the short form, `--cannot_abstain`",
       "a selection",
       line(""),
       {"--cannot_abstain"},
       {one}},
      {"jsonl",
       "no id",
       "the id is of file, line and text; the report counts them",
       absl::StrCat("{", tail, "}\n"),
       {"--cannot_abstain"},
       {"IN:1: action 1 p 0.5 reward 1"},
       "",
       {"1 decisions without an id"}},
      {"jsonl",
       "`time` as a date",
       "UTC unless it states its zone",
       line(R"(,"time":"2026-04-01 10:00:00")"),
       {"--cannot_abstain"},
       {one + " time 1775037600000000"},
       "",
       {"1 times without a zone"}},
      {"jsonl",
       "`time` in seconds, `--time_unit=s`",
       "converted",
       line(R"(,"time":1775037600.5)"),
       {"--cannot_abstain", "--time_unit=s"},
       {one + " time 1775037600500000"}},
      {"jsonl",
       "`time` in seconds, taken for microseconds",
       "read, with a warning about the year",
       line(R"(,"time":1775037600)"),
       {"--cannot_abstain"},
       {one + " time 1775037600"},
       "",
       {"WARNING    the decisions are from the years 1970 to 1970"}},
      {"jsonl",
       "keys that are not known",
       "not used; counted by key",
       line(R"(,"user":"u7")"),
       {"--cannot_abstain"},
       {one},
       "",
       {"1 values of the key 'user'"}},
      {"jsonl",
       "a key twice in a decision",
       "refused",
       line(R"(,"reward":0)"),
       {},
       {},
       "the key 'reward' is there twice"},
      {"jsonl",
       "`reward` null",
       "refused",
       absl::StrReplaceAll(line(""), {{"\"reward\":1", "\"reward\":null"}}),
       {},
       {},
       "reward is null, must be a finite number"},
      {"jsonl",
       "a propensity NaN",
       "refused: JSON has no NaN",
       absl::StrReplaceAll(line(""), {{"0.5", "NaN"}}),
       {},
       {},
       ":1: column"},
      {"jsonl",
       "tuples by protobuf's JSON with the names of the proto",
       "read",
       R"({"decision":{"decision_id":"a","action_kind":"SELECT",)"
       R"("num_candidates":2,"num_features":1,"dense_values":[1,2],)"
       R"("action":[1],"log_propensity":0},"reward":1,"has_feedback":true})"
       "\n",
       {},
       {"a: action 1 p 1 reward 1"}},
      {"jsonl",
       "tuples by protobuf's JSON with its own names (decisionId)",
       "read",
       R"({"decision":{"decisionId":"a","actionKind":"SELECT",)"
       R"("numCandidates":2,"numFeatures":1,"denseValues":[1,2],)"
       R"("action":[1],"logPropensity":0},"reward":1,"hasFeedback":true})"
       "\n",
       {},
       {"a: action 1 p 1 reward 1"}},
      {"jsonl",
       "a UTF-8 byte order mark",
       "skipped",
       "\xef\xbb\xbf" + line(""),
       {"--cannot_abstain"},
       {one}},
      {"jsonl",
       "one JSON array of all decisions",
       "refused: names `jq`",
       "[" + line("") + "]",
       {},
       {},
       ":1: the file is a JSON array"},
  };
}

std::vector<Shape> CsvShapes() {
  const std::string head = "decision_id,chosen,propensity,reward,f0\n";
  const std::string rows = "a,0,0.5,1,7\na,1,0.5,1,8\n";
  const std::string one = "a: action 1 p 0.5 reward 1";
  const std::string no = "--cannot_abstain";
  return {
      {"csv",
       "a line for each candidate",
       "a selection",
       head + rows,
       {no},
       {one}},
      {"csv",
       "booleans as pandas writes them (True, False)",
       "read",
       head + "a,False,0.5,1,7\na,True,0.5,1,8\n",
       {no},
       {one}},
      {"csv",
       "integers as pandas writes them beside empty cells (1.0)",
       "read",
       head + "a,0.0,0.5,1,7\na,1.0,0.5,1,8\n",
       {no},
       {one}},
      {"csv",
       "a column without a name (the index of a data frame)",
       "not used; the report names it",
       "," + head + "0,a,0,0.5,1,7\n1,a,1,0.5,1,8\n",
       {no},
       {one},
       "",
       {"not used   1 columns ''"}},
      {"csv",
       "further columns",
       "not used; the report names them",
       "price,decision_id,chosen,propensity,reward,f0\n"
       "3,a,0,0.5,1,7\n3,a,1,0.5,1,8\n",
       {no},
       {one},
       "",
       {"not used   1 columns 'price'"}},
      {"csv",
       "semicolons between the fields",
       "refused: names `--delimiter`",
       absl::StrReplaceAll(head + rows, {{",", ";"}}),
       {no},
       {},
       "give --delimiter=';'"},
      {"csv",
       "semicolons, `--delimiter=;`",
       "read",
       absl::StrReplaceAll(head + rows, {{",", ";"}}),
       {no, "--delimiter=;"},
       {one}},
      {"csv",
       "tabs, `--delimiter=tab`",
       "read",
       absl::StrReplaceAll(head + rows, {{",", "\t"}}),
       {no, "--delimiter=tab"},
       {one}},
      {"csv",
       "decimal commas",
       "refused: names the column",
       "decision_id;chosen;propensity;reward;f0\na;1;0,5;1;8\n",
       {no, "--delimiter=;"},
       {},
       "column 'propensity' is '0,5'"},
      {"csv",
       "a UTF-8 byte order mark (Excel)",
       "skipped",
       "\xef\xbb\xbf" + head + rows,
       {no},
       {one}},
      {"csv",
       "lines that end in CR LF",
       "read",
       absl::StrReplaceAll(head + rows, {{"\n", "\r\n"}}),
       {no},
       {one}},
      {"csv",
       "line breaks within quotes",
       "part of the field",
       head + "\"a\nb\",1,0.5,1,7\n",
       {no},
       {"a\nb: action 0 p 0.5 reward 1"}},
      {"csv",
       "Latin-1 text",
       "refused",
       head + "a\xe9,1,0.5,1,7\n",
       {no},
       {},
       ":2: the line is not UTF-8"},
      {"csv",
       "times as pandas writes them",
       "UTC unless they state a zone",
       "decision_id,chosen,propensity,reward,f0,time_us\n"
       "a,1,0.5,1,7,2026-04-01 10:00:00\n",
       {no},
       {"a: action 0 p 0.5 reward 1 time 1775037600000000"},
       "",
       {"1 times without a zone, read as UTC"}},
      {"csv",
       "times in milliseconds, `--time_unit=ms`",
       "converted",
       "decision_id,chosen,propensity,reward,f0,time_us\n"
       "a,1,0.5,1,7,1775037600000\n",
       {no, "--time_unit=ms"},
       {"a: action 0 p 0.5 reward 1 time 1775037600000000"}},
      {"csv",
       "dates without a time of day",
       "midnight",
       "decision_id,chosen,propensity,reward,f0,time_us\n"
       "a,1,0.5,1,7,2026-04-01\n",
       {no},
       {"a: action 0 p 0.5 reward 1 time 1775001600000000"}},
      {"csv",
       "an empty reward",
       "refused: names the column",
       head + "a,1,0.5,,7\n",
       {no},
       {},
       "column 'reward' is ''"},
      {"csv",
       "a reward NaN",
       "refused: names the column",
       head + "a,1,0.5,nan,7\n",
       {no},
       {},
       "column 'reward' is 'nan'"},
      {"csv",
       "lines of a decision that are apart",
       "refused: the id was given before",
       head + "a,1,0.5,1,7\nb,1,0.5,1,7\na,0,0.5,1,7\n",
       {no},
       {},
       ""},
      {"csv",
       "columns f0, f1, … that are sorted by name or in another order",
       "in the order of their numbers",
       "decision_id,chosen,propensity,reward,f1,f10,f2,f0,f3,f4,f5,f6,f7,f8,"
       "f9\n"
       "a,0,0.5,1,1,10,2,0,3,4,5,6,7,8,9\na,1,0.5,1,0,0,0,0,0,0,0,0,0,0,0\n",
       {no},
       {one}},
      {"csv",
       "a gap among f0, f1, …",
       "refused",
       "decision_id,chosen,propensity,reward,f0,f2\na,1,0.5,1,7,7\n",
       {no},
       {},
       "column 'f1' is missing"},
      {"csv",
       "`--columns=features=x_*` and a reward x_click",
       "the reward is no feature",
       "decision_id,chosen,propensity,x_click,x_1\na,0,0.5,1,7\na,1,0.5,1,8\n",
       {no, "--columns=reward=x_click,features=x_*"},
       {one}},
      {"csv",
       "a column that happens to have the name of a field",
       "`--columns=model=` leaves it out",
       "decision_id,chosen,propensity,reward,f0,model\n"
       "a,0,0.5,1,7,iPhone\na,1,0.5,1,8,iPhone\n",
       {no, "--columns=model="},
       {one},
       "",
       {"model      default/0"}},
      {"csv",
       "no chosen candidate, without `--cannot_abstain`",
       "no answer; the report counts them",
       head + "a,0,0.5,1,7\na,0,0.5,1,8\n",
       {},
       {"a: action -1 p 0.5 reward 1 abstain"},
       "",
       {"1 decisions without a chosen candidate", "1 decisions abstained"}},
      {"csv",
       "`chosen` beyond 1 in a selection",
       "refused",
       head + "a,2,0.5,1,7\n",
       {no},
       {},
       "must be 1 or 0"},
      {"csv",
       "a first line `sep=;` (Excel)",
       "states the delimiter",
       "sep=;\n" + absl::StrReplaceAll(head + rows, {{",", ";"}}),
       {no},
       {one}},
      {"csv",
       "no column of that name",
       "refused: names those that are there",
       "id,chosen,propensity,reward,f0\na,1,0.5,1,7\n",
       {no},
       {},
       "column 'decision_id' (id) is missing; the columns are id, chosen"},
      {"csv",
       "no column of propensities",
       "refused: names the field",
       "decision_id,chosen,reward,f0\na,1,1,7\n",
       {no},
       {},
       "column 'propensity' (p) is missing"},
      {"csv",
       "names of other tools, `--columns`",
       "read",
       "query,won,prob,click,x_1\na,0,0.5,1,7\na,1,0.5,1,8\n",
       {no, "--columns=id=query,action=won,p=prob,reward=click,features=x_*"},
       {one}},
      {"csv",
       "a line for each decision",
       "an action has columns of its own",
       "decision_id,action,propensity,reward,f0\na,1,0.5,1,7\n",
       {no, "--rows=decision", "--num_actions=2"},
       {one}},
  };
}

std::vector<Shape> ObdShapes() {
  const std::string head =
      "timestamp,item_id,position,click,propensity_score\n";
  const std::string row = "2019-11-24 00:00:00+00:00,1,2,1,0.5\n";
  const std::string one =
      "obd-2-1: action 1 p 0.5 reward 1 time 1574553600000000";
  const std::string items = "--num_actions=3";
  return {
      {"obd",
       "a file of the Open Bandit Dataset",
       "selections among the items",
       head + row,
       {items},
       {one}},
      {"obd",
       "a column without a name (the index of a data frame)",
       "ignored",
       "," + head + "0," + row,
       {items},
       {one}},
      {"obd",
       "lines of other positions (`--position`)",
       "counted",
       head + row + absl::StrReplaceAll(row, {{",1,2,", ",1,3,"}}),
       {items, "--position=2"},
       {one},
       "",
       {"1 lines of other positions"}},
      {"obd",
       "columns that are not known",
       "not used; the report names them",
       absl::StrReplaceAll(head, {{"\n", ",User_feature_0\n"}}) +
           absl::StrReplaceAll(row, {{"\n", ",x\n"}}),
       {items},
       {one},
       "",
       {"1 columns 'User_feature_0'"}},
      {"obd",
       "several imports that are read together, `--id_prefix=bts/`",
       "the ids obd-POSITION-LINE begin with it",
       head + row,
       {items, "--id_prefix=bts/"},
       {"bts/" + one},
       "",
       {"1 decisions without an id, named after their line"}},
      {"obd",
       "times without a zone",
       "UTC; the report counts them",
       absl::StrReplaceAll(head + row, {{"+00:00", ""}}),
       {items},
       {one},
       "",
       {"1 times without a zone"}},
      {"obd",
       "no affinities, `--num_actions` or `--item_context`",
       "refused: names the options",
       head + row,
       {},
       {},
       "give --item_context or --num_actions"},
      {"obd",
       "a propensity of 0",
       "refused",
       absl::StrReplaceAll(head + row, {{"0.5", "0"}}),
       {items},
       {},
       "column 'propensity_score' is '0', must be in (0, 1]"},
      {"obd",
       "an item beyond `--num_actions`",
       "refused",
       absl::StrReplaceAll(head + row, {{",1,2,", ",3,2,"}}),
       {items},
       {},
       "column 'item_id' is '3', must be in [0, 3)"},
  };
}

std::vector<Shape> AllShapes() {
  std::vector<Shape> all;
  for (const auto& shapes :
       {DsjsonShapes(), JsonlShapes(), CsvShapes(), ObdShapes()}) {
    all.insert(all.end(), shapes.begin(), shapes.end());
  }
  return all;
}

class ForeignFilesTest : public ExchangeFixture {
 protected:
  // Imports a text by itself and returns its tuples.
  std::vector<log::v1::BanditTuple> Read(const std::string& text,
                                         std::vector<std::string> flags) {
    std::filesystem::remove_all(imported());
    EXPECT_OK(ImportText(text, flags));
    return ReadAllTuples(imported());
  }
  // The features of the first decision of a dsjson file.
  std::string Features(const std::string& text,
                       const std::string& flag = kHash) {
    const auto tuples = Read(text, {"--format=dsjson", flag});
    return tuples.empty() ? "none" : FeaturesOf(tuples[0].decision());
  }
};

TEST_F(ForeignFilesTest, EveryShapeIsReadAsTheListStates) {
  for (const Shape& shape : AllShapes()) {
    SCOPED_TRACE(absl::StrCat(shape.format, ": ", shape.habit));
    std::vector<std::string> flags = shape.flags;
    if (absl::string_view(shape.format) != "all") {
      flags.push_back(absl::StrCat("--format=", shape.format));
    }
    std::filesystem::remove_all(imported());
    const absl::Status status = ImportText(shape.text, flags);
    if (shape.tuples.empty()) {
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(status.message(), HasSubstr(shape.error));
      EXPECT_TRUE(NothingImported());
      continue;
    }
    EXPECT_OK(status);
    std::vector<std::string> facts;
    for (const auto& tuple : ReadAllTuples(imported())) {
      facts.push_back(absl::StrReplaceAll(FactsOf(tuple), {{input(), "IN"}}));
    }
    EXPECT_THAT(facts, testing::ElementsAreArray(shape.tuples));
    for (const std::string& part : shape.report) {
      EXPECT_THAT(out_, HasSubstr(part));
    }
  }
}

// SORTITION_WRITE_DOCS=1 rewrites the page.
TEST_F(ForeignFilesTest, ThePageListsTheShapes) {
  constexpr char kMark[] = "| format | the file has | what the import does |\n";
  std::string table = absl::StrCat(kMark, "|---|---|---|\n");
  for (const Shape& shape : AllShapes()) {
    absl::StrAppend(&table, "| ", shape.format, " | ", shape.habit, " | ",
                    shape.consequence, " |\n");
  }
  EXPECT_GE(AllShapes().size(), 60u);
  const std::string path =
      absl::StrCat(SORTITION_SOURCES, "/docs/foreign_files.md");
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(path));
  const size_t begin = page.find(kMark);
  ASSERT_NE(begin, std::string::npos);
  const std::string expected = page.substr(0, begin) + table;
  if (std::getenv("SORTITION_WRITE_DOCS") != nullptr) {
    ASSERT_OK(WriteFile(path, expected));
  }
  EXPECT_EQ(page, expected) << "run again with SORTITION_WRITE_DOCS=1";
}

// Ids that the import makes up are the same in every import of a file, and
// differ between files of one name.
TEST_F(ForeignFilesTest, MadeUpIdsBelongToTheText) {
  const auto id = [&](const std::string& text) {
    return Read(absl::StrReplaceAll(text, {{R"("EventId":"a",)", ""}}),
                {"--format=dsjson", kHash})
        .at(0)
        .decision()
        .decision_id();
  };
  EXPECT_EQ(id(Event("a")), id(Event("a")));
  EXPECT_NE(id(Event("a")), id(Silent("a")));
}

// The second file has the features of the first in another order.
TEST_F(ForeignFilesTest, FeaturesOfAllFilesAreAlignedByName) {
  const std::string head = "decision_id,chosen,propensity,reward,";
  const std::string first = dir_ / "first.csv";
  const std::string second = dir_ / "second.csv";
  const std::vector<std::string> arguments = {
      "--format=csv", "--columns=features=x_*", "--tuples=" + imported(), first,
      second};
  ASSERT_OK(WriteFile(first, head + "x_b,x_a\na,1,1,0,1,2\n"));
  ASSERT_OK(WriteFile(second, head + "x_a,x_b\nb,1,1,0,20,10\n"));
  ASSERT_OK(Import(arguments));
  const auto tuples = ReadAllTuples(imported());
  EXPECT_EQ(FeaturesOf(tuples.at(0).decision()), "1 2");
  EXPECT_EQ(FeaturesOf(tuples.at(1).decision()), "10 20");
  std::filesystem::remove_all(imported());
  ASSERT_OK(WriteFile(second, head + "x_a,x_c\nb,1,1,0,20,10\n"));
  EXPECT_THAT(Import(arguments),
              IsInvalidArgument("the columns of features are x_a, x_c, must be "
                                "those of the first file: x_b, x_a"));
}

// f10 is the eleventh feature, wherever its column is.
TEST_F(ForeignFilesTest, NumberedFeaturesAreInTheOrderOfTheirNumbers) {
  const auto tuples =
      Read("decision_id,chosen,propensity,reward,f1,f2,f0\na,1,1,0,11,12,10\n",
           {"--format=csv"});
  EXPECT_EQ(FeaturesOf(tuples.at(0).decision()), "10 11 12");
}

// An object's key is the namespace of its features at any depth.
TEST_F(ForeignFilesTest, FeaturesOfDifferentNamespacesHaveDifferentColumns) {
  EXPECT_EQ(Features(Event("a", "",
                           R"({"j":[{"a":{"score":1}},{"b":{"score":1}}]},)"
                           R"({"j":[{"a":{"score":1}},{"a":{"score":1}}]})")),
            "1 1 | 2");
  EXPECT_EQ(
      Features(Event("a", "",
                     R"({"x":{"a":{"score":1},"b":{"score":1},"score":1}},)"
                     R"({"x":{"score":2}})")),
      "1 1 1 | 2");
}

// The same name in the same namespace is one column, wherever it lies.
TEST_F(ForeignFilesTest, ANamespaceIsTheSameAtAnyDepth) {
  const auto columns = [&](const std::string& candidate) {
    const auto tuples = Read(Event("a", "", candidate + ",{\"T\":{\"x\":1}}"),
                             {"--format=dsjson", kHash});
    return tuples.at(0).decision().sparse().columns(0);
  };
  const uint32_t direct = columns(R"({"a":{"score":1}})");
  EXPECT_EQ(columns(R"({"j":[{"a":{"score":1}}]})"), direct);
  EXPECT_EQ(columns(R"({"j":{"k":{"a":{"score":1}}}})"), direct);
  EXPECT_EQ(columns(R"({"a":[{"score":1}]})"), direct);
  EXPECT_NE(columns(R"({"b":{"score":1}})"), direct);
}

TEST_F(ForeignFilesTest, ValuesOfEveryTypeAreFeatures) {
  const auto features = [&](const std::string& candidate) {
    return Features(Event("a", "", candidate + ",{\"T\":{\"x\":9}}"));
  };
  EXPECT_EQ(features(R"({"U":{"t":true,"f":false,"n":null}})"), "1 | 9");
  EXPECT_EQ(features(R"({"U":{"color":"red"}})"), "1 | 9");
  EXPECT_EQ(features(R"({"title":{"_text":"new  red shoes"}})"), "1 1 1 | 9");
  EXPECT_EQ(features(R"({"place":[3,4]})"), "3 4 | 9");
  EXPECT_EQ(features(R"({"tags":["new","sale"]})"), "1 1 | 9");
  EXPECT_EQ(features(R"({"_hidden":{"x":1},"x":5})"), "5 | 9");
  EXPECT_THAT(ImportText(Event("a", "", R"({"m":[[1]]},{"T":{"x":9}})"),
                         {"--format=dsjson", kHash, "--force"}),
              IsInvalidArgument("'m' has an array in an array"));
}

TEST_F(ForeignFilesTest, NamedColumnsAreFoundAtAnyDepth) {
  const std::string spec = dir_ / "features.textproto";
  ASSERT_OK(WriteFile(spec,
                      "schema { column { name: 'a.score' type: NUMBER } "
                      "column { name: 'price' type: NUMBER } }"));
  const std::string flag = "--features=" + spec;
  EXPECT_EQ(Features(Event("a", "",
                           R"({"j":[{"a":{"score":1}},{"price":{"price":5}}]},)"
                           R"({"k":{"a":{"score":3}},"price":7})"),
                     flag),
            "a.score=1,3 price=5,7");
  EXPECT_THAT(ImportText(Event("a", "",
                               R"({"j":[{"a":{"score":1}},{"a":{"score":2}}],)"
                               R"("price":1},{"a":{"score":3},"price":1})"),
                         {"--format=dsjson", flag, "--force"}),
              IsInvalidArgument("c._multi[0].a.score is there 2 times"));
  EXPECT_THAT(ImportText(Event("a"), {"--format=dsjson", flag, "--force"}),
              IsInvalidArgument("none of the columns of --features (a.score, "
                                "price); it has the namespaces T"));
}

}  // namespace
}  // namespace sortition
