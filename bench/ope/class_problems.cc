#include "bench/ope/class_problems.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "Eigen/Eigenvalues"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/labelled_rows.h"
#include "core/base/status_macros.h"
#include "io/datasets/multilabel.h"

namespace sortition {
namespace {

constexpr uint32_t kMostFeatures = 128;  // Beside the constant.
constexpr uint32_t kComponents = 64;

ClassItems OneClassEach(LabelledRows rows, uint32_t num_classes) {
  ClassItems items;
  items.num_features = rows.num_features;
  items.num_classes = num_classes;
  items.features = std::move(rows.features);
  items.relevant.resize(rows.labels.size() * num_classes);
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    items.relevant[i * num_classes + rows.labels[i]] = 1;
  }
  return items;
}

ClassItems ManyClassesEach(const MultilabelData& data, uint32_t num_features,
                           uint32_t num_classes) {
  ClassItems items;
  items.num_features = num_features + 1;
  items.num_classes = num_classes;
  items.features.resize(data.size() * items.num_features);
  items.relevant.resize(data.size() * num_classes);
  for (size_t i = 0; i < data.size(); ++i) {
    float* row = items.features.data() + i * items.num_features;
    for (uint64_t k = data.row_offsets[i]; k < data.row_offsets[i + 1]; ++k) {
      row[data.columns[k]] = data.values[k];
    }
    row[num_features] = 1;
    for (const uint32_t label : data.labels[i]) {
      items.relevant[i * num_classes + label] = 1;
    }
  }
  return items;
}

absl::StatusOr<ClassProblem> ReadLabelSets(const std::string& directory,
                                           const std::string& name) {
  const auto path = [&](const char* part) {
    return absl::StrCat(directory, "/", name, "_", part, ".svm");
  };
  ASSIGN_OR_RETURN(const MultilabelData train, ReadMultilabel(path("train")));
  ASSIGN_OR_RETURN(const MultilabelData test, ReadMultilabel(path("test")));
  const uint32_t features = std::max(train.num_features, test.num_features);
  const uint32_t classes = std::max(train.num_labels, test.num_labels);
  return ClassProblem{name, ManyClassesEach(train, features, classes),
                      ManyClassesEach(test, features, classes)};
}

absl::StatusOr<ClassProblem> ReadProblem(const std::string& directory,
                                         const std::string& name) {
  if (name == "optdigits") {
    ASSIGN_OR_RETURN(LabelledRows train,
                     ReadDigits(absl::StrCat(directory, "/optdigits.tra")));
    ASSIGN_OR_RETURN(LabelledRows test,
                     ReadDigits(absl::StrCat(directory, "/optdigits.tes")));
    return ClassProblem{name, OneClassEach(std::move(train), 10),
                        OneClassEach(std::move(test), 10)};
  }
  if (name == "adult") {
    ASSIGN_OR_RETURN(LabelledRows train,
                     ReadAdultRows(absl::StrCat(directory, "/a3a")));
    ASSIGN_OR_RETURN(LabelledRows test,
                     ReadAdultRows(absl::StrCat(directory, "/a3a.t")));
    return ClassProblem{name, OneClassEach(std::move(train), 2),
                        OneClassEach(std::move(test), 2)};
  }
  return ReadLabelSets(directory, name);
}

using RowMatrix =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Returns the features but for the constant.
Eigen::MatrixXd FeaturesOf(const ClassItems& items) {
  const Eigen::Map<const RowMatrix> all(items.features.data(),
                                        static_cast<Eigen::Index>(items.size()),
                                        items.num_features);
  return all.leftCols(items.num_features - 1).cast<double>();
}

void SetFeatures(const Eigen::MatrixXd& features, ClassItems* items) {
  items->num_features = static_cast<uint32_t>(features.cols()) + 1;
  items->features.assign(items->size() * items->num_features, 1);
  Eigen::Map<RowMatrix> all(items->features.data(), features.rows(),
                            items->num_features);
  all.leftCols(features.cols()) = features.cast<float>();
}

// Replaces many features by the principal components of the training items: a
// hundred logs are drawn, and models of each are fitted.
void ReduceFeatures(ClassProblem* problem) {
  if (problem->train.num_features - 1 <= kMostFeatures) return;
  const Eigen::MatrixXd train = FeaturesOf(problem->train);
  const Eigen::RowVectorXd mean = train.colwise().mean();
  const Eigen::MatrixXd centred = train.rowwise() - mean;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
      centred.transpose() * centred);
  const Eigen::MatrixXd components =
      solver.eigenvectors().rightCols(kComponents);
  for (ClassItems* items : {&problem->train, &problem->test}) {
    SetFeatures((FeaturesOf(*items).rowwise() - mean) * components, items);
  }
}

}  // namespace

absl::StatusOr<std::vector<ClassProblem>> ReadClassProblems(
    const std::string& directory) {
  std::vector<ClassProblem> problems;
  for (const char* name : {"optdigits", "scene", "yeast", "adult"}) {
    const std::string folder = absl::StrCat(directory, "/", name);
    if (!std::filesystem::is_directory(folder)) {
      absl::PrintF("skipped: %s, there is no %s\n", name, folder);
      continue;
    }
    ASSIGN_OR_RETURN(ClassProblem problem, ReadProblem(folder, name));
    ReduceFeatures(&problem);
    problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace sortition
