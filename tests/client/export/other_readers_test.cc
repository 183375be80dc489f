// What readers of others get from exports and from segments: Python, with
// nothing of ours.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "io/segments/shown_action.h"
#include "tests/client/export/exchange_fixture.h"

namespace sortition {
namespace {

using log::v1::BanditTuple;
using testing::SizeIs;

// By what a greedy policy orders candidates.
enum class OrderedBy { kFirstFeature, kPlace };

// The probability of an action under a fixed policy; 0 or more.
using FixedPolicy = std::function<double(const log::v1::Decision&)>;

bool IsEligible(const log::v1::Decision& decision, int i) {
  return decision.eligible().empty() || decision.eligible(i);
}

std::vector<int32_t> EligibleCandidates(const log::v1::Decision& decision) {
  std::vector<int32_t> candidates;
  for (int i = 0; i < static_cast<int>(decision.num_candidates()); ++i) {
    if (IsEligible(decision, i)) candidates.push_back(i);
  }
  return candidates;
}

// Returns feature 0 of a candidate, or its column x.
float FirstFeature(const log::v1::Decision& decision, int i) {
  if (decision.has_columns()) {
    return static_cast<float>(
        decision.columns().candidate(0).numbers().values(i));
  }
  if (!decision.has_sparse()) {
    return decision.dense_values(i * static_cast<int>(decision.num_features()));
  }
  const v1::SparseFeatures& sparse = decision.sparse();
  for (uint32_t k = sparse.row_offsets(i); k < sparse.row_offsets(i + 1); ++k) {
    if (sparse.columns(static_cast<int>(k)) == 0) {
      return sparse.values(static_cast<int>(k));
    }
  }
  return 0;
}

// Returns the probability of the action under the policy that chooses
// uniformly; subsets among those of the same size.
double Uniform(const log::v1::Decision& decision) {
  double left = static_cast<double>(EligibleCandidates(decision).size()) +
                (decision.can_abstain() ? 1 : 0);
  double probability = 1;
  for (int rank = 0; rank < decision.action_size(); ++rank) {
    probability /= left--;
    // All orders of its members are the same subset.
    if (decision.action_kind() == log::v1::SUBSET) probability *= rank + 1;
  }
  return probability;
}

// Returns 1 if the action has the candidates with the largest values, in their
// order.
double Greedy(OrderedBy by, const log::v1::Decision& decision) {
  std::vector<int32_t> order = EligibleCandidates(decision);
  if (by == OrderedBy::kFirstFeature) {
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return FirstFeature(decision, a) > FirstFeature(decision, b);
    });
  }
  order.resize(static_cast<size_t>(decision.action_size()));
  if (decision.action_kind() == log::v1::SUBSET) {
    std::sort(order.begin(), order.end());
  }
  return std::equal(order.begin(), order.end(), decision.action().begin());
}

// Named figures, as the scripts print them.
using Figures = std::map<std::string, double>;

double KeepProbability(const BanditTuple& tuple) {
  return tuple.keep_probability() == 0 ? 1 : tuple.keep_probability();
}

void AddEstimates(const std::vector<BanditTuple>& tuples,
                  const std::string& name, const FixedPolicy& policy,
                  Figures* figures) {
  double weights = 0;
  double gain = 0;
  double kept = 0;
  for (const BanditTuple& tuple : tuples) {
    const double weight = policy(tuple.decision()) /
                          std::exp(tuple.decision().log_propensity()) /
                          KeepProbability(tuple);
    weights += weight;
    gain += weight * tuple.reward();
    kept += 1 / KeepProbability(tuple);
  }
  (*figures)[name + "_ips"] = gain / kept;
  (*figures)[name + "_snips"] = gain / weights;
}

// Returns what the tuples themselves give, without those that are censored.
Figures Expected(std::vector<BanditTuple> tuples, OrderedBy by) {
  std::erase_if(tuples, [](const auto& t) { return t.censored_size() > 0; });
  Figures figures;
  figures["decisions"] = static_cast<double>(tuples.size());
  figures["shown"] = static_cast<double>(
      std::count_if(tuples.begin(), tuples.end(),
                    [](const auto& t) { return !ShownDiffers(t); }));
  AddEstimates(tuples, "uniform", Uniform, &figures);
  AddEstimates(
      tuples, "greedy", [by](const auto& d) { return Greedy(by, d); },
      &figures);
  return figures;
}

// Selections by a policy that may not abstain.
std::vector<BanditTuple> SurelyAnswered(size_t n) {
  return MakeTuples({.can_abstain = false}, n);
}

// Applies `change` to each of them, with its number.
std::vector<BanditTuple> Changed(
    std::vector<BanditTuple> tuples,
    const std::function<void(size_t, BanditTuple*)>& change) {
  for (size_t i = 0; i < tuples.size(); ++i) change(i, &tuples[i]);
  return tuples;
}

// Every third is kept with probability 1, 0.5 and 0.125, unknown to the others.
void Sample(size_t i, BanditTuple* tuple) {
  if (i % 3 > 0) tuple->set_keep_probability(i % 3 == 1 ? 0.5 : 0.125);
}

// Every fourth shows what was not chosen.
void Override(size_t i, BanditTuple* tuple) {
  if (i % 4 > 0) return;
  const int32_t chosen = tuple->decision().action(0);
  tuple->mutable_shown()->add_shown(chosen == 2 ? 3 : 2);
}

void Censor(size_t i, BanditTuple* tuple) {
  if (i % 5 == 0) tuple->add_censored(log::v1::LOST);
}

// One candidate that was not chosen could not have been.
void Mask(size_t i, BanditTuple* tuple) {
  log::v1::Decision* const decision = tuple->mutable_decision();
  const auto masked = static_cast<int32_t>(i % decision->num_candidates());
  if (masked == decision->action(0)) return;
  for (int32_t j = 0; j < static_cast<int32_t>(decision->num_candidates());
       ++j) {
    decision->add_eligible(j != masked);
  }
}

// Every second value is 0, and left out.
void MakeSparse(size_t /*i*/, BanditTuple* tuple) {
  log::v1::Decision* const decision = tuple->mutable_decision();
  v1::SparseFeatures* const sparse = decision->mutable_sparse();
  sparse->add_row_offsets(0);
  for (uint32_t row = 0; row < decision->num_candidates(); ++row) {
    for (uint32_t j = row % 2; j < decision->num_features(); j += 2) {
      sparse->add_columns(j);
      sparse->add_values(decision->dense_values(
          static_cast<int>(row * decision->num_features() + j)));
    }
    sparse->add_row_offsets(static_cast<uint32_t>(sparse->columns_size()));
  }
  decision->clear_dense_values();
}

// The first feature becomes the column x.
void NameColumn(size_t /*i*/, BanditTuple* tuple) {
  log::v1::Decision* const decision = tuple->mutable_decision();
  v1::Columns columns;
  columns.set_num_candidates(decision->num_candidates());
  v1::Column* const column = columns.add_candidate();
  column->set_name("x");
  for (int i = 0; i < static_cast<int>(decision->num_candidates()); ++i) {
    column->mutable_numbers()->add_values(FirstFeature(*decision, i));
  }
  decision->clear_dense_values();
  decision->clear_num_features();
  *decision->mutable_columns() = columns;
}

struct Format {
  std::string name;
  std::string script;
  std::vector<std::string> flags;
  OrderedBy greedy = OrderedBy::kFirstFeature;
};

const Format kJsonl = {"jsonl", "read_jsonl.py", {"--format=jsonl"}};
const Format kCsv = {"csv", "read_csv.py", {"--format=csv"}};
const Format kCsvDecisions = {"csv_decisions",
                              "read_csv_decisions.py",
                              {"--format=csv", "--rows=decision"},
                              OrderedBy::kPlace};
const Format kDsjson = {"dsjson", "read_dsjson.py", {"--format=dsjson"}};
const Format kSvmlight = {
    "svmlight", "read_svmlight.py", {"--format=svmlight"}};
const Format kNpz = {"npz", "read_npz.py", {"--format=npz"}};

// Tuples of one kind, and the formats that can express them.
struct Kind {
  std::string name;
  std::vector<BanditTuple> tuples;
  std::vector<Format> formats;
};

std::vector<Kind> AllKinds() {
  const std::vector<Format> all = {kJsonl,  kCsv,      kCsvDecisions,
                                   kDsjson, kSvmlight, kNpz};
  // Lines of decisions do not have the mask.
  const std::vector<Format> of_candidates = {kJsonl, kCsv, kDsjson, kSvmlight,
                                             kNpz};
  constexpr size_t kMany = 400;
  return {
      {"Selections", SurelyAnswered(kMany), all},
      {"Abstentions", Selections(kMany), all},
      {"Orders", Orders(kMany), all},
      {"Subsets",
       MakeTuples({.action_kind = ActionKind::kSubset}, kMany),
       {kJsonl, kCsv, kCsvDecisions, kSvmlight}},
      {"Sampled", Changed(Selections(kMany), Sample), all},
      {"SampledOrders", Changed(Orders(kMany), Sample), all},
      {"Overridden", Changed(Selections(kMany), Override), all},
      {"OverriddenOrders", Changed(Orders(kMany), Override), all},
      {"Censored", Changed(Selections(kMany), Censor), all},
      {"Masked", Changed(Selections(kMany), Mask), of_candidates},
      {"Sparse", Changed(SurelyAnswered(kMany), MakeSparse), all},
      {"NamedColumns",
       Changed(Selections(kMany), NameColumn),
       {kJsonl, kCsv, kCsvDecisions, kDsjson}},
  };
}

class OtherReadersTest : public ExchangeFixture {
 protected:
  // Returns what the script prints of files.
  std::string Python(const std::string& script,
                     const std::vector<std::string>& files) {
    const std::string output = dir_ / "printed";
    const std::string command =
        absl::StrCat(SORTITION_PYTHON, " -B '" SORTITION_SCRIPTS "/", script,
                     "' '", absl::StrJoin(files, "' '"), "' > '", output, "'");
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return ReadFile(output).value_or("");
  }

  // Returns the figures that the script prints of each file, a name and a
  // number in a line.
  std::vector<Figures> Read(const std::string& script,
                            const std::vector<std::string>& files) {
    std::vector<Figures> figures;
    const std::string printed = Python(script, files);
    for (const absl::string_view line :
         absl::StrSplit(printed, '\n', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> figure =
          absl::StrSplit(line, ' ');
      if (figure.first == "file") {
        figures.emplace_back();
        continue;
      }
      EXPECT_TRUE(
          absl::SimpleAtod(figure.second, &figures.back()[figure.first]))
          << line;
    }
    EXPECT_THAT(figures, SizeIs(files.size()));
    figures.resize(files.size());
    return figures;
  }

  // Exports the tuples and returns the path of the file.
  std::string Exported(const Format& format,
                       const std::vector<BanditTuple>& tuples) {
    const std::string file =
        absl::StrCat(dir_ / "exported", ++num_files_, format.name);
    std::vector<std::string> arguments = format.flags;
    arguments.push_back("--output=" + file);
    arguments.push_back(Write(tuples));
    EXPECT_OK(Export(arguments));
    return file;
  }

  Figures ExportAndRead(const Format& format,
                        const std::vector<BanditTuple>& tuples) {
    return Read(format.script, {Exported(format, tuples)})[0];
  }

  static void ExpectFigures(const Figures& read, const Figures& expected) {
    for (const auto& [name, value] : expected) {
      ASSERT_EQ(read.count(name), 1u) << name;
      EXPECT_NEAR(read.at(name), value, 1e-12 * std::abs(value)) << name;
    }
  }

  int num_files_ = 0;
};

class FormatTest : public OtherReadersTest,
                   public testing::WithParamInterface<Format> {};

TEST_P(FormatTest, GivesTheEstimatesOfTheTuples) {
  const Format& format = GetParam();
  std::vector<Kind> kinds = AllKinds();
  std::erase_if(kinds, [&](const Kind& kind) {
    return std::none_of(
        kind.formats.begin(), kind.formats.end(),
        [&](const Format& other) { return other.name == format.name; });
  });
  ASSERT_GE(kinds.size(), 9u);
  std::vector<std::string> files;
  for (const Kind& kind : kinds) files.push_back(Exported(format, kind.tuples));
  const std::vector<Figures> read = Read(format.script, files);
  for (size_t i = 0; i < kinds.size(); ++i) {
    SCOPED_TRACE(kinds[i].name);
    const Figures expected = Expected(kinds[i].tuples, format.greedy);
    // The test could not fail if nothing were estimated.
    ASSERT_GT(expected.at("uniform_ips"), 0.1);
    ASSERT_GT(expected.at("greedy_ips"), 0);
    ExpectFigures(read[i], expected);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FormatTest,
                         testing::Values(kJsonl, kCsv, kCsvDecisions, kDsjson,
                                         kSvmlight, kNpz),
                         [](const auto& test) { return test.param.name; });

// The kinds differ from plain selections, so that a reader that ignored what
// they add would not get their estimates.
TEST_F(OtherReadersTest, TheKindsAreWhatTheySay) {
  std::map<std::string, Figures> figures;
  for (const Kind& kind : AllKinds()) {
    figures[kind.name] = Expected(kind.tuples, OrderedBy::kFirstFeature);
  }
  const Figures& plain = figures.at("Abstentions");
  EXPECT_NE(figures.at("Sampled").at("uniform_ips"), plain.at("uniform_ips"));
  EXPECT_NE(figures.at("Masked").at("uniform_ips"), plain.at("uniform_ips"));
  EXPECT_EQ(figures.at("Censored").at("decisions"), 320);
  EXPECT_EQ(figures.at("Overridden").at("shown"), 300);
  EXPECT_EQ(figures.at("OverriddenOrders").at("shown"), 300);
}

// Readers that go by the order of the keys know selections alone, pass over
// events in which something else was shown, and do not know pdrop.
TEST_F(OtherReadersTest, DsjsonIsReadByTheOrderOfItsKeys) {
  const Format format = {
      "dsjson", "read_dsjson_by_position.py", {"--format=dsjson"}};
  std::vector<std::string> files;
  std::vector<Figures> expected;
  for (const Kind& kind : AllKinds()) {
    if (kind.tuples[0].decision().action_kind() != log::v1::SELECT) continue;
    files.push_back(Exported(format, kind.tuples));
    std::vector<BanditTuple> tuples = kind.tuples;
    std::erase_if(tuples, [](const auto& t) { return ShownDiffers(t); });
    for (BanditTuple& tuple : tuples) tuple.clear_keep_probability();
    expected.push_back(Expected(tuples, OrderedBy::kPlace));
  }
  const std::vector<Figures> read = Read(format.script, files);
  for (size_t i = 0; i < files.size(); ++i) {
    SCOPED_TRACE(files[i]);
    ExpectFigures(read[i], expected[i]);
  }
}

// The ids, units, attributes and feature names of a log cannot mislead it.
TEST_F(OtherReadersTest, NoTextOfALogIsTakenForAKey) {
  const std::string text = R"(","a":[9],"p":[9],"T":"c":{"_label_cost":)";
  const auto tuples = Changed(Selections(20), [&](size_t i, BanditTuple* t) {
    log::v1::Decision* const decision = t->mutable_decision();
    decision->set_decision_id(i == 0 ? "" : absl::StrCat(i, text));
    decision->set_unit_id(text);
    (*decision->mutable_attributes())["a"] = text;
    (*decision->mutable_attributes())["p"] = "1";
    (*decision->mutable_attributes())["T"] = "1";
    for (log::v1::Feedback& feedback : *t->mutable_feedback()) {
      feedback.set_feedback_id(text);
    }
  });
  ExpectFigures(
      ExportAndRead(
          {"dsjson", "read_dsjson_by_position.py", {"--format=dsjson"}},
          tuples),
      Expected(tuples, OrderedBy::kPlace));
}

TEST_F(OtherReadersTest, NumpyArraysHaveAllFeaturesAndPositions) {
  auto tuples = Orders(300);
  size_t ranks = 0;
  double features = 0;
  for (const BanditTuple& tuple : tuples) {
    ranks += static_cast<size_t>(tuple.decision().action_size());
    const auto& values = tuple.decision().dense_values();
    features = std::accumulate(values.begin(), values.end(), features);
  }
  // Two of three ranks are shown, of which one is seen.
  ASSERT_EQ(tuples[7].decision().action_size(), 3);
  log::v1::Shown& shown = *tuples[7].mutable_shown();
  for (const int rank : {0, 1}) {
    shown.add_shown(static_cast<uint32_t>(tuples[7].decision().action(rank)));
  }
  shown.set_seen_ranks(1);
  const Figures read = ExportAndRead(kNpz, tuples);
  EXPECT_EQ(read.at("positions_shown"), static_cast<double>(ranks - 1));
  EXPECT_EQ(read.at("positions_seen"), static_cast<double>(ranks - 2));
  EXPECT_NEAR(read.at("features"), features, 1e-12 * std::abs(features));
}

TEST_F(OtherReadersTest, SegmentsAreTfRecords) {
  const auto tuples = Selections(3);
  const std::string dir = Write(tuples);
  ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(dir));
  const std::string printed =
      Python("read_tfrecord.py", {absl::StrCat(dir, "/", names[0])});
  const std::vector<std::string> lines =
      absl::StrSplit(printed, '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(tuples.size() + 2));  // Header and footer.
  for (size_t i = 0; i < tuples.size(); ++i) {
    log::v1::LogRecord record;
    *record.mutable_tuple() = tuples[i];
    std::string hex;
    for (const char c : record.SerializeAsString()) {
      absl::StrAppendFormat(&hex, "%02x", static_cast<unsigned char>(c));
    }
    EXPECT_EQ(lines[i + 1], hex);
  }
}

}  // namespace
}  // namespace sortition
