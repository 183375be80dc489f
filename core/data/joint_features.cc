#include "core/data/joint_features.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Limit of row offsets and columns.
constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
// A document_index is an int32_t.
constexpr uint32_t kMostClasses = std::numeric_limits<int32_t>::max();
// Limit of word counts: times a logarithm they are still floats.
constexpr float kMostCount = 1e30F;
// What a word counts as that no document contains.
constexpr double kUnseen = 0.5;

absl::Status CheckNumClasses(uint32_t num_classes) {
  if (num_classes >= 1 && num_classes <= kMostClasses) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("num_classes is ", num_classes,
                                                 ", must be within [1, ",
                                                 kMostClasses, "]"));
}

absl::Status CheckAtMost(absl::string_view what, uint64_t number) {
  if (number <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " are ", number, ", must be at most ", kMost));
}

absl::Status CheckCount(float count, size_t document, size_t word) {
  if (count >= 0 && count <= kMostCount) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("count of word ", word, " in document ", document, " is ",
                   count, ", must be within [0, ", kMostCount, "]"));
}

// Returns how many numbers all rows together have.
size_t NumNonZero(std::span<const float> x, uint32_t num_rows) {
  const auto zeros = std::count(x.begin(), x.end(), 0.0F);
  return (x.size() - static_cast<size_t>(zeros)) * num_rows;
}

// Calls visit(row, word, count) for all counts that are not 0.
template <typename Visit>
absl::Status ForEachCount(const Candidates& documents, const Visit& visit) {
  const uint32_t d = documents.num_features();
  for (uint32_t row = 0; row < documents.num_candidates(); ++row) {
    const uint32_t begin =
        documents.sparse() ? documents.row_offsets()[row] : 0;
    const uint32_t end =
        documents.sparse() ? documents.row_offsets()[row + 1] : d;
    for (uint32_t e = begin; e < end; ++e) {
      const uint32_t word = documents.sparse() ? documents.columns()[e] : e;
      const float count =
          documents
              .values()[documents.sparse() ? e
                                           : static_cast<size_t>(row) * d + e];
      RETURN_IF_ERROR(CheckCount(count, row, word));
      visit(row, word, count);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckClasses(const Candidates& documents,
                          std::span<const uint32_t> classes,
                          uint32_t num_classes) {
  RETURN_IF_ERROR(CheckNumClasses(num_classes));
  if (documents.num_candidates() == 0 ||
      classes.size() != documents.num_candidates()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", classes.size(), " classes, must be ",
        documents.num_candidates(), ", one per document, and not 0"));
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] < num_classes) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("classes[", i, "] is ", classes[i],
                     ", must be below num_classes = ", num_classes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JointFeatures> MultiVectorFeatures(std::span<const float> x,
                                                  uint32_t num_classes) {
  RETURN_IF_ERROR(CheckNumClasses(num_classes));
  RETURN_IF_ERROR(Candidates::Dense(x, static_cast<uint32_t>(
                                           std::min(uint64_t{x.size()}, kMost)))
                      .status());
  RETURN_IF_ERROR(
      CheckAtMost("num_features of all classes", x.size() * num_classes));
  JointFeatures joint;
  joint.num_features = static_cast<uint32_t>(x.size()) * num_classes;
  const size_t size = NumNonZero(x, num_classes);
  joint.columns.reserve(size);
  joint.values.reserve(size);
  for (uint32_t j = 0; j < num_classes; ++j) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] == 0) continue;
      joint.columns.push_back(static_cast<uint32_t>(j * x.size() + i));
      joint.values.push_back(x[i]);
    }
    joint.row_offsets.push_back(static_cast<uint32_t>(joint.columns.size()));
  }
  return joint;
}

TfIdf::TfIdf(uint32_t num_features, uint32_t num_classes)
    : num_features_(num_features),
      num_classes_(num_classes),
      weights_(static_cast<size_t>(num_features) * num_classes, 0) {}

absl::StatusOr<TfIdf> TfIdf::Fit(const Candidates& documents,
                                 std::span<const uint32_t> classes,
                                 uint32_t num_classes) {
  RETURN_IF_ERROR(CheckClasses(documents, classes, num_classes));
  TfIdf result(documents.num_features(), num_classes);
  std::vector<double>& held = result.weights_;  // By documents of the class;
  std::vector<double> by_all(documents.num_features(), 0);
  RETURN_IF_ERROR(ForEachCount(
      documents, [&](uint32_t document, uint32_t word, float count) {
        if (count == 0) return;
        held[static_cast<size_t>(word) * num_classes + classes[document]] += 1;
        by_all[word] += 1;
      }));
  const double m = documents.num_candidates();
  for (size_t e = 0; e < held.size(); ++e) {
    const double of_others = by_all[e / num_classes] - held[e];
    held[e] = std::log(m / std::max(of_others, kUnseen));
  }
  return result;
}

absl::StatusOr<JointFeatures> TfIdf::Map(std::span<const float> counts) const {
  if (counts.size() != num_features_) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", counts.size(), " word counts, must be ",
                     num_features_, ", as in the training documents"));
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    RETURN_IF_ERROR(CheckCount(counts[i], 0, i));
  }
  RETURN_IF_ERROR(
      CheckAtMost("numbers of all classes", NumNonZero(counts, num_classes_)));
  JointFeatures joint;
  joint.num_features = num_features_;
  for (uint32_t j = 0; j < num_classes_; ++j) {
    for (uint32_t i = 0; i < num_features_; ++i) {
      const double weight = InverseDocumentFrequency(i, j);
      if (counts[i] == 0 || weight == 0) continue;
      joint.columns.push_back(i);
      joint.values.push_back(static_cast<float>(counts[i] * weight));
    }
    joint.row_offsets.push_back(static_cast<uint32_t>(joint.columns.size()));
  }
  return joint;
}

}  // namespace sortition
