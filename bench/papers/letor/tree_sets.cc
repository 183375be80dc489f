#include "bench/papers/letor/tree_sets.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/features/feature_transform.h"
#include "core/features/schema/schema.h"
#include "core/scoring/model_features.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/labelled/labelled_frame.h"
#include "trainer/offpolicy/frame_options.h"

namespace sortition {
namespace {

constexpr uint32_t kSyntheticFeatures = 8;
constexpr size_t kSyntheticFolds = 3;
constexpr int kCandidates = 20;

// Owns the data behind the views of queries. Elements are never moved.
struct Store {
  std::deque<std::vector<float>> features;
  std::deque<std::vector<uint32_t>> relevances;

  LabelledItems Add(std::vector<float> rows, std::vector<uint32_t> labels,
                    uint32_t num_features) {
    features.push_back(std::move(rows));
    relevances.push_back(std::move(labels));
    return {Candidates::DenseUnchecked(features.back(), num_features),
            relevances.back()};
  }
};

using Features = std::array<double, kSyntheticFeatures>;

double LinearWorth(const Features& x) {
  return 0.7 * x[0] - 0.5 * x[1] + 0.4 * x[2] + 0.3 * x[3];
}
double ProductWorth(const Features& x) {
  return (x[0] * x[1] > 0 ? 1 : 0) + (x[3] > 0 && x[4] > 0 ? 0.7 : 0) +
         0.5 * x[2] - 0.5;
}
double ThresholdWorth(const Features& x) {
  return (std::abs(x[0]) > 1 ? 1 : 0) + 0.5 * std::tanh(3 * x[1]) + 0.3 * x[2] -
         0.3;
}

std::vector<LabelledItems> Simulate(double (*worth)(const Features&),
                                    size_t num_queries, RandomSequence* random,
                                    Store* store) {
  std::vector<LabelledItems> queries;
  for (size_t q = 0; q < num_queries; ++q) {
    std::vector<float> rows;
    std::vector<uint32_t> labels;
    for (int i = 0; i < kCandidates; ++i) {
      Features x;
      for (double& value : x) {
        value = random->Normal();
        rows.push_back(static_cast<float>(value));
      }
      const double noisy = worth(x) + 0.7 * random->Normal();
      labels.push_back(noisy > 1.2 ? 2 : noisy > 0.5 ? 1 : 0);
    }
    queries.push_back(
        store->Add(std::move(rows), std::move(labels), kSyntheticFeatures));
  }
  return queries;
}

// Makes features from the columns of queries. Without a spec, queries already
// have features.
class Reader {
 public:
  static absl::StatusOr<Reader> Create(const std::string& features) {
    Reader reader;
    if (features.empty()) return reader;
    ASSIGN_OR_RETURN(reader.spec_, ReadFeatureSpec(features));
    ASSIGN_OR_RETURN(Schema schema, Schema::Create(reader.spec_.schema()));
    reader.schema_ = std::move(schema);
    return reader;
  }

  absl::StatusOr<LabelledQueries> Read(const std::string& path) const {
    return ReadQueries(path, schema_.has_value() ? &*schema_ : nullptr);
  }

  // Learns features from training queries.
  absl::Status Learn(const std::vector<LabelledQuery>& train,
                     uint32_t num_features) {
    num_features_ = num_features;
    if (!schema_.has_value()) return absl::OkStatus();
    model::v1::Model model;
    ASSIGN_OR_RETURN(*model.mutable_features(),
                     LearnFromQueries(spec_, train, {}));
    ASSIGN_OR_RETURN(const FeatureTransform transform,
                     FeatureTransform::Create(model.features()));
    num_features_ = transform.num_features();
    model.set_num_features(num_features_);
    ASSIGN_OR_RETURN(ModelFeatures made, ModelFeatures::Create(model));
    features_ = std::move(made);
    return absl::OkStatus();
  }

  absl::StatusOr<LabelledItems> View(LabelledQuery query, uint32_t width,
                                     Store* store) const {
    if (features_.has_value()) {
      ModelFeatureScratch scratch;
      ASSIGN_OR_RETURN(query.features,
                       MakeRows(*features_, query, 0, &scratch));
    } else {
      ChangeWidth(width, num_features_, 0, &query);
    }
    return store->Add(std::move(query.features), std::move(query.relevances),
                      num_features_);
  }

 private:
  model::v1::FeatureSpec spec_;
  std::optional<Schema> schema_;
  std::optional<ModelFeatures> features_;
  uint32_t num_features_ = 0;
};

absl::StatusOr<TreeSet> MakeSet(const std::string& name, const Reader& reader,
                                LabelledQueries train,
                                LabelledQueries validation,
                                LabelledQueries test) {
  auto store = std::make_shared<Store>();
  Reader learned = reader;
  RETURN_IF_ERROR(learned.Learn(train.queries, train.num_features));
  TreeSet set{.name = name, .data = store, .folds = {LetorFold()}};
  const std::pair<LabelledQueries*, std::vector<LabelledItems>*> parts[] = {
      {&train, &set.folds[0].train},
      {&validation, &set.folds[0].validation},
      {&test, &set.folds[0].test}};
  for (const auto& [read, views] : parts) {
    for (LabelledQuery& query : read->queries) {
      ASSIGN_OR_RETURN(
          const LabelledItems view,
          learned.View(std::move(query), read->num_features, store.get()));
      views->push_back(view);
    }
    if (views->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": a part has 0 queries, must have at least 1"));
    }
  }
  return set;
}

}  // namespace

std::vector<TreeSet> SyntheticTreeSets() {
  constexpr struct {
    const char* name;
    bool has_interactions;
    double (*worth)(const Features&);
  } kWorlds[] = {{"linear", false, LinearWorth},
                 {"products", true, ProductWorth},
                 {"thresholds", true, ThresholdWorth}};
  std::vector<TreeSet> sets;
  for (const auto& world : kWorlds) {
    auto store = std::make_shared<Store>();
    TreeSet set{world.name, world.has_interactions, store, {}};
    RandomSequence random(SeedKey(sets.size() + 1));
    for (size_t f = 0; f < kSyntheticFolds; ++f) {
      set.folds.push_back({Simulate(world.worth, 100, &random, store.get()),
                           Simulate(world.worth, 30, &random, store.get()),
                           Simulate(world.worth, 200, &random, store.get())});
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

absl::StatusOr<TreeSet> ReadLetorSet(const std::string& dir) {
  ASSIGN_OR_RETURN(const LetorFolds data, ReadLetorFolds(dir));
  return TreeSet{.name = dir.substr(dir.find_last_of('/') + 1),
                 .data = data.data,
                 .folds = {data.folds.begin(), data.folds.end()}};
}

absl::StatusOr<TreeSet> ReadFileSet(const std::string& train,
                                    const std::string& validation,
                                    const std::string& test,
                                    const std::string& features) {
  ASSIGN_OR_RETURN(const Reader reader, Reader::Create(features));
  ASSIGN_OR_RETURN(LabelledQueries of_train, reader.Read(train));
  ASSIGN_OR_RETURN(LabelledQueries of_validation, reader.Read(validation));
  ASSIGN_OR_RETURN(LabelledQueries of_test, reader.Read(test));
  return MakeSet(train.substr(train.find_last_of('/') + 1), reader,
                 std::move(of_train), std::move(of_validation),
                 std::move(of_test));
}

absl::StatusOr<TreeSet> ReadSelqaSet(const std::string& dir,
                                     const std::string& features) {
  ASSIGN_OR_RETURN(const Reader reader, Reader::Create(features));
  ASSIGN_OR_RETURN(LabelledQueries dev,
                   reader.Read(absl::StrCat(dir, "/selqa-ass-dev.tsv")));
  ASSIGN_OR_RETURN(LabelledQueries test,
                   reader.Read(absl::StrCat(dir, "/selqa-ass-test.tsv")));
  LabelledQueries train{.num_features = dev.num_features, .queries = {}};
  LabelledQueries validation = train;
  for (size_t q = 0; q < dev.queries.size(); ++q) {
    (q % 5 == 4 ? validation : train)
        .queries.push_back(std::move(dev.queries[q]));
  }
  return MakeSet("SelQA", reader, std::move(train), std::move(validation),
                 std::move(test));
}

}  // namespace sortition
