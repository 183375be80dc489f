#include "core/features/describe_features.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "core/features/blocks/feature_blocks.h"
#include "core/features/text/word_splitter.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using model::v1::ValueStatistics;

std::string TypeText(const ColumnSchema& column) {
  const std::string& type = TypeName(column.type());
  return column.size() == 0 ? type
                            : absl::StrFormat("%s of %d", type, column.size());
}

std::string AbsentText(const ColumnSchema& column) {
  switch (column.if_absent_case()) {
    case ColumnSchema::kMissing:
      return ", absent: missing";
    case ColumnSchema::kNumber:
      return absl::StrFormat(", absent: %g", column.number());
    case ColumnSchema::kText:
      return absl::StrFormat(", absent: '%s'", column.text());
    case ColumnSchema::IF_ABSENT_NOT_SET:
      break;
  }
  return "";
}

// "mean 3.2, deviation 0.4, -1 to 9, median 3", or the most frequent
// categories.
std::string StatisticsText(const ValueStatistics& values) {
  std::string text = absl::StrFormat("%d values", values.count());
  if (values.missing() > 0) {
    absl::StrAppendFormat(&text, ", %d missing", values.missing());
  }
  if (values.count() == 0) return text;
  if (values.categories_size() > 0) {
    constexpr int kMostShown = 5;
    for (int i = 0; i < std::min(values.categories_size(), kMostShown); ++i) {
      absl::StrAppendFormat(&text, ", %s %.1f %%", values.categories(i),
                            100.0 *
                                static_cast<double>(values.category_counts(i)) /
                                static_cast<double>(values.count()));
    }
    return text;
  }
  absl::StrAppendFormat(&text, ", mean %.4g, deviation %.4g, %.4g to %.4g",
                        values.mean(), std::sqrt(values.variance()),
                        values.min(), values.max());
  return text;
}

}  // namespace

std::string DescribeFeatures(const model::v1::Features& features,
                             const FeatureTransform& transform) {
  const auto& learned = features.learned();
  std::string text = absl::StrFormat(
      "schema %s, learned from %d queries with %d candidates\n",
      features.schema_hash(), learned.num_queries(), learned.num_candidates());
  for (int i = 0; i < features.spec().schema().column_size(); ++i) {
    const ColumnSchema& column = features.spec().schema().column(i);
    absl::StrAppendFormat(
        &text, "column %s: %s of the %s%s; %s\n", column.name(),
        TypeText(column),
        column.scope() == ColumnSchema::QUERY ? "query" : "candidates",
        AbsentText(column),
        i < learned.column_size() ? StatisticsText(learned.column(i)) : "");
  }
  absl::StrAppendFormat(&text, "%d features, %d of them not sparse\n",
                        transform.num_features(),
                        transform.num_dense_features());
  for (uint32_t j = 0; j < transform.num_dense_features(); ++j) {
    const auto index = static_cast<int>(j);
    absl::StrAppendFormat(
        &text, "feature %d %s; %s\n", j, transform.FeatureName(j),
        index < learned.feature_size() ? StatisticsText(learned.feature(index))
                                       : "");
  }
  for (const FeatureBlocks::Sparse& sparse : transform.blocks().sparse) {
    absl::StrAppendFormat(&text, "features %d to %d: %s ..\n", sparse.first,
                          sparse.first + sparse.block->size() - 1,
                          transform.FeatureName(sparse.first));
  }
  for (const model::v1::WordCounts& counts : learned.word_counts()) {
    absl::StrAppendFormat(
        &text, "words of %s: %d in %d texts, %.1f a text (Unicode %s)\n",
        counts.column(), counts.word_size(), counts.num_texts(),
        counts.mean_length(), learned.unicode_version());
  }
  return text;
}

std::string UnicodeNotice(const model::v1::Features& features) {
  const auto& transforms = features.spec().transform();
  const auto is_text = [&](const std::string& name) {
    const auto& columns = features.spec().schema().column();
    return std::any_of(columns.begin(), columns.end(), [&](const auto& column) {
      return column.name() == name &&
             column.type() == model::v1::ColumnSchema::TEXT;
    });
  };
  const bool splits = std::any_of(
      transforms.begin(), transforms.end(),
      [&](const model::v1::Transform& transform) {
        return transform.has_ngrams() || transform.has_text_pair() ||
               (transform.has_cross() && (is_text(transform.cross().left()) ||
                                          is_text(transform.cross().right())));
      });
  const std::string& learned = features.learned().unicode_version();
  const std::string here = UnicodeVersion();
  if (!splits || learned.empty() || learned == here) return "";
  return absl::StrFormat(
      "texts were split into words by Unicode %s in training, and are by %s "
      "here: features of texts beyond ASCII may differ",
      learned, here);
}

}  // namespace sortition
