#include "bench/speed/poem_problem.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/label_part.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/poem.h"
#include "core/learners/multilabel/labels_policy.h"
#include "io/datasets/multilabel.h"
#include "io/files.h"
#include "process/json_writer.h"

namespace sortition {
namespace {

constexpr double kLoggingShare = 0.05;
constexpr double kLoggingL2 = 1e-3;
constexpr uint32_t kReplays = 4;
constexpr double kTrainingShare = 0.75;
constexpr double kLambda = 1;
constexpr double kL2 = 1e-6;

std::vector<uint32_t> SomeOf(size_t n, double share, uint32_t stream) {
  std::vector<uint32_t> order(n);
  ShuffleTuples(/*seed=*/1, stream, order);
  order.resize(static_cast<size_t>(share * static_cast<double>(n)));
  return order;
}

// Draws distinct features, feature j with a probability in proportion to
// 1 / (j + 1) like the words of a text, in ascending order. Returns all
// features if rows are dense.
std::vector<uint32_t> RandomColumns(const GeneratedShape& shape,
                                    RandomSequence* random) {
  std::vector<uint32_t> columns;
  if (shape.values_per_row == shape.num_features) {
    columns.resize(shape.num_features);
    std::iota(columns.begin(), columns.end(), 0u);
    return columns;
  }
  while (columns.size() < shape.values_per_row) {
    const double place = std::pow(shape.num_features, random->Uniform());
    const auto column =
        std::min(static_cast<uint32_t>(place), shape.num_features) - 1;
    const auto next = std::lower_bound(columns.begin(), columns.end(), column);
    if (next == columns.end() || *next != column) columns.insert(next, column);
  }
  return columns;
}

// Writes NumPy's format 1.0: magic, length of the header, header, data.
template <typename T>
absl::Status WriteNpy(const std::filesystem::path& path,
                      const std::string& type, const std::vector<size_t>& shape,
                      std::span<const T> values) {
  std::string dimensions;
  for (const size_t size : shape) absl::StrAppend(&dimensions, size, ",");
  std::string header =
      absl::StrCat("{'descr': '", type, "', 'fortran_order': False, 'shape': (",
                   dimensions, "), }");
  constexpr size_t kPreamble = 10;
  header.resize((kPreamble + header.size() + 64) / 64 * 64 - kPreamble, ' ');
  header.back() = '\n';
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(static_cast<char>(header.size() % 256));
  file.put(static_cast<char>(header.size() / 256));
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size_bytes()));
  file.close();
  return file.good() ? absl::OkStatus()
                     : absl::DataLossError(
                           absl::StrCat(path.string(), " was not written"));
}

absl::Status WriteContexts(const std::filesystem::path& directory,
                           const LabelContexts& contexts) {
  const size_t entries = contexts.size() * contexts.num_features;
  if (contexts.values.size() == entries) {
    return WriteNpy<float>(directory / "dense.npy", "<f4",
                           {contexts.size(), contexts.num_features},
                           contexts.values);
  }
  RETURN_IF_ERROR(WriteNpy<float>(directory / "values.npy", "<f4",
                                  {contexts.values.size()}, contexts.values));
  RETURN_IF_ERROR(WriteNpy<uint32_t>(directory / "columns.npy", "<u4",
                                     {contexts.columns.size()},
                                     contexts.columns));
  RETURN_IF_ERROR(WriteNpy<uint64_t>(directory / "row_offsets.npy", "<u8",
                                     {contexts.row_offsets.size()},
                                     contexts.row_offsets));
  const std::vector<uint64_t> num_features = {contexts.num_features};
  return WriteNpy<uint64_t>(directory / "num_features.npy", "<u8", {1},
                            num_features);
}

}  // namespace

absl::StatusOr<PoemProblem> ReadPoemProblem(const std::string& path) {
  ASSIGN_OR_RETURN(const MultilabelData file, ReadMultilabel(path));
  // Rows of dense files stay dense.
  LabelledContexts data =
      ToLabelledContexts(file, {.num_features = file.num_features,
                                .num_labels = file.num_labels,
                                .keep_zeros = true});
  ASSIGN_OR_RETURN(
      const Eigen::VectorXd logging,
      FitLabels(data, SomeOf(data.contexts.size(), kLoggingShare, 1),
                kLoggingL2, config::v1::LbfgsOptions()));
  const LabelTuples all =
      DrawTuples(data, logging, {.replays = kReplays, .seed = 1});
  PoemProblem problem;
  problem.name = std::filesystem::path(path).stem().string();
  problem.tuples = PartOf(all, SomeOf(all.size(), kTrainingShare, 2),
                          data.contexts.num_labels);
  problem.contexts = std::move(data.contexts);
  ASSIGN_OR_RETURN(const LabelsPolicy policy,
                   LabelsPolicy::Create(problem.contexts, problem.tuples));
  problem.crm = {DefaultClip(policy), kLambda, kL2};
  return problem;
}

PoemProblem GeneratePoemProblem(const std::string& name,
                                const GeneratedShape& shape) {
  PoemProblem problem;
  problem.name = name;
  problem.crm = {.clip = 10, .lambda = kLambda, .l2 = kL2};
  RandomSequence random(SeedKey(1));
  LabelContexts& contexts = problem.contexts;
  contexts.num_features = shape.num_features;
  contexts.num_labels = shape.num_labels;
  const size_t values = size_t{shape.num_contexts} * shape.values_per_row;
  contexts.columns.reserve(values);
  contexts.values.reserve(values);
  for (uint32_t row = 0; row < shape.num_contexts; ++row) {
    for (const uint32_t column : RandomColumns(shape, &random)) {
      contexts.columns.push_back(column);
      contexts.values.push_back(static_cast<float>(random.Normal()) / 4);
    }
    contexts.row_offsets.push_back(contexts.values.size());
  }
  LabelTuples& tuples = problem.tuples;
  for (uint32_t i = 0; i < shape.num_contexts * shape.replays; ++i) {
    tuples.contexts.push_back(i % shape.num_contexts);
    tuples.losses.push_back(-random.Uniform());
    tuples.log_propensities.push_back(-std::log(2.0) * shape.num_labels);
    for (uint32_t l = 0; l < shape.num_labels; ++l) {
      tuples.labels.push_back(static_cast<uint8_t>(random.Below(2)));
    }
  }
  return problem;
}

absl::Status WritePoemProblem(const std::string& directory,
                              const PoemProblem& problem,
                              const PoemSchedule& schedule,
                              const Eigen::VectorXd& parameters) {
  const std::filesystem::path folder(directory);
  const LabelTuples& tuples = problem.tuples;
  const size_t n = tuples.size();
  RETURN_IF_ERROR(WriteContexts(folder, problem.contexts));
  RETURN_IF_ERROR(
      WriteNpy<uint32_t>(folder / "contexts.npy", "<u4", {n}, tuples.contexts));
  RETURN_IF_ERROR(WriteNpy<uint8_t>(folder / "labels.npy", "|u1",
                                    {n, problem.contexts.num_labels},
                                    tuples.labels));
  RETURN_IF_ERROR(
      WriteNpy<double>(folder / "losses.npy", "<f8", {n}, tuples.losses));
  RETURN_IF_ERROR(WriteNpy<double>(folder / "log_propensities.npy", "<f8", {n},
                                   tuples.log_propensities));
  const auto dimension = static_cast<size_t>(parameters.size());
  RETURN_IF_ERROR(WriteNpy<double>(folder / "parameters.npy", "<f8",
                                   {dimension},
                                   {parameters.data(), dimension}));
  std::vector<uint32_t> orders(schedule.epochs * n);
  for (uint32_t epoch = 0; epoch < schedule.epochs; ++epoch) {
    ShuffleTuples(schedule.seed, epoch + 1,
                  std::span(orders).subspan(epoch * n, n));
  }
  RETURN_IF_ERROR(WriteNpy<uint32_t>(folder / "orders.npy", "<u4",
                                     {schedule.epochs, n}, orders));
  JsonWriter options;
  options.BeginObject();
  options.Key("clip").Number(problem.crm.clip);
  options.Key("lambda").Number(problem.crm.lambda);
  options.Key("l2").Number(problem.crm.l2);
  options.Key("batch_size").Count(schedule.batch_size);
  options.Key("step_size").Number(schedule.step_size);
  options.Key("iterations").Count(schedule.iterations);
  options.Key("history").Count(schedule.history);
  options.Key("repetitions").Count(schedule.repetitions);
  options.EndObject();
  return WriteFile((folder / "options.json").string(), options.text());
}

}  // namespace sortition
