#include "core/features/column_learner.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/features/blocks/feature_blocks.h"
#include "core/features/blocks/number_blocks.h"
#include "core/features/blocks/spec_check.h"
#include "core/features/drift/column_values.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using model::v1::FeatureSpec;
using model::v1::LearnedFeatures;
using model::v1::LearnedTransform;
using model::v1::NumberTransform;
using model::v1::Transform;

void SetMoments(const std::vector<RunningMoments>& moments,
                LearnedTransform* learned) {
  for (const RunningMoments& each : moments) {
    learned->add_mean(each.mean());
    learned->add_scale(each.Scale());
  }
}

}  // namespace

ColumnLearner::ColumnLearner(const Schema& schema, const FeatureSpec& spec)
    : schema_(schema),
      spec_(spec),
      learners_(static_cast<size_t>(spec.transform_size())),
      numbers_(schema.size()),
      categories_(schema.size()) {}

ColumnLearner::~ColumnLearner() = default;

uint32_t ColumnLearner::NumRows(size_t column,
                                const BoundColumns& columns) const {
  return schema_.column(column).scope() == ColumnSchema::QUERY
             ? 1
             : columns.num_candidates();
}

absl::Status ColumnLearner::Add(const BoundColumns& columns) {
  if (num_queries_ == 0) RETURN_IF_ERROR(MakeCounters());
  ++num_queries_;
  num_candidates_ += columns.num_candidates();
  for (size_t i = 0; i < learners_.size(); ++i) {
    AddToTransform(spec_.transform(static_cast<int>(i)), columns,
                   &learners_[i]);
  }
  for (size_t i = 0; i < schema_.size(); ++i) AddToStatistics(i, columns);
  return AddToCounters(columns);
}

void ColumnLearner::AddToTransform(const Transform& transform,
                                   const BoundColumns& columns,
                                   Learner* learner) {
  const auto visit = [&](const std::string& name, const auto& visitor) {
    const size_t index = *schema_.Find(name);
    const BoundColumn& column = columns.column(index);
    for (uint32_t row = 0; row < NumRows(index, columns); ++row) {
      if (!column.Missing(row)) visitor(index, column, row);
    }
  };
  if (transform.has_number()) {
    const NumberTransform& number = transform.number();
    learner->moments.resize(1);
    visit(number.column(),
          [&](size_t, const BoundColumn& column, uint32_t row) {
            const double value = PreparedNumber(number, column.Number(row));
            learner->moments[0].Add(value);
            if (number.quantile_bins() > 0) learner->sample.Add(value);
          });
  } else if (transform.has_vector() && transform.vector().standardise()) {
    learner->moments.resize(NumStandardised(schema_, transform));
    visit(transform.vector().column(),
          [&](size_t, const BoundColumn& column, uint32_t row) {
            const std::span<const float> vector = column.Vector(row);
            for (size_t j = 0; j < vector.size(); ++j) {
              learner->moments[j].Add(static_cast<double>(vector[j]));
            }
          });
  } else if (transform.has_vocabulary()) {
    visit(transform.vocabulary().column(),
          [&](size_t index, const BoundColumn& column, uint32_t row) {
            if (schema_.column(index).type() != ColumnSchema::CATEGORY_SET) {
              learner->categories.Add(column.Text(row));
              return;
            }
            for (const std::string* const value : column.Set(row)) {
              learner->categories.Add(*value);
            }
          });
  } else if (transform.cross().standardise()) {
    const std::vector<std::string> numbers =
        CrossedNumbers(schema_, transform.cross());
    learner->moments.resize(numbers.size());
    for (size_t k = 0; k < numbers.size(); ++k) {
      visit(numbers[k], [&](size_t, const BoundColumn& column, uint32_t row) {
        const double x = column.Number(row);
        learner->moments[k].Add(transform.cross().log1p() ? SignedLog1p(x) : x);
      });
    }
  } else if (transform.ngrams().idf()) {
    visit(transform.ngrams().column(),
          [&](size_t, const BoundColumn& column, uint32_t row) {
            learner->splitter->Split(column.Text(row), &words_);
            learner->places->Add(words_);
          });
  }
}

void ColumnLearner::AddToStatistics(size_t index, const BoundColumns& columns) {
  const ColumnSchema& schema = schema_.column(index);
  const BoundColumn& column = columns.column(index);
  for (uint32_t row = 0; row < NumRows(index, columns); ++row) {
    if (CountsCategories(schema)) {
      if (column.Missing(row)) {
        categories_[index].AddMissing();
      } else {
        categories_[index].Add(column.Text(row));
      }
    } else if (column.Missing(row)) {
      numbers_[index].AddMissing();
    } else {
      numbers_[index].Add(CountedNumber(schema, column, row));
    }
  }
}

absl::Status ColumnLearner::AddCounter(const std::string& name,
                                       const model::v1::Words& words) {
  const size_t column = *schema_.Find(name);
  for (const Counter& counter : counters_) {
    if (counter.column == column &&
        SameWords(counter.counts.options(), words)) {
      return absl::OkStatus();
    }
  }
  ASSIGN_OR_RETURN(auto splitter, WordSplitter::Create(words.stemmer()));
  counters_.push_back({column, std::move(splitter), WordCounter(words)});
  return absl::OkStatus();
}

absl::Status ColumnLearner::MakeCounters() {
  for (size_t i = 0; i < learners_.size(); ++i) {
    const Transform& transform = spec_.transform(static_cast<int>(i));
    if (transform.has_text_pair()) {
      RETURN_IF_ERROR(AddCounter(transform.text_pair().candidate(),
                                 transform.text_pair().words()));
    } else if (transform.cross().idf()) {
      for (const std::string& side :
           {transform.cross().left(), transform.cross().right()}) {
        if (schema_.column(*schema_.Find(side)).type() != ColumnSchema::TEXT) {
          continue;
        }
        RETURN_IF_ERROR(AddCounter(side, transform.cross().words()));
      }
    } else if (transform.ngrams().idf()) {
      ASSIGN_OR_RETURN(
          learners_[i].splitter,
          WordSplitter::Create(transform.ngrams().words().stemmer()));
      learners_[i].places.emplace(transform.ngrams());
    }
  }
  return absl::OkStatus();
}

absl::Status ColumnLearner::AddToCounters(const BoundColumns& columns) {
  for (Counter& counter : counters_) {
    const BoundColumn& column = columns.column(counter.column);
    for (uint32_t row = 0; row < NumRows(counter.column, columns); ++row) {
      if (column.Missing(row)) continue;
      counter.splitter->Split(column.Text(row), &words_);
      counter.counts.Add(words_);
    }
  }
  return absl::OkStatus();
}

LearnedTransform ColumnLearner::FinishTransform(const Transform& transform,
                                                const Learner& learner) const {
  LearnedTransform learned;
  if (transform.has_number()) {
    const NumberTransform& number = transform.number();
    learned.set_fill(learner.moments.empty() ? 0 : learner.moments[0].mean());
    if (number.standardise()) SetMoments(learner.moments, &learned);
    if (number.quantile_bins() > 0) {
      const std::vector<double> edges =
          QuantileEdges(learner.sample.values(), number.quantile_bins());
      learned.mutable_edges()->Add(edges.begin(), edges.end());
    }
  } else if (transform.has_vector() || transform.has_cross()) {
    SetMoments(learner.moments, &learned);
  } else if (transform.has_vocabulary()) {
    for (auto& [value, count] :
         learner.categories.MostFrequent(transform.vocabulary().most_values(),
                                         transform.vocabulary().min_count())) {
      learned.add_vocabulary(value);
    }
  } else if (learner.places.has_value()) {
    learner.places->Finish(&learned);
  } else if (transform.has_text_pair()) {
    for (size_t j = 0; j < NumStandardised(schema_, transform); ++j) {
      learned.add_mean(0);
      learned.add_scale(1);
    }
  }
  return learned;
}

LearnedFeatures ColumnLearner::Finish() const {
  LearnedFeatures learned;
  for (size_t i = 0; i < learners_.size(); ++i) {
    *learned.add_transform() =
        FinishTransform(spec_.transform(static_cast<int>(i)), learners_[i]);
  }
  for (const Counter& counter : counters_) {
    model::v1::WordCounts& counts = *learned.add_word_counts();
    counts = counter.counts.Finish();
    counts.set_column(schema_.column(counter.column).name());
  }
  for (size_t i = 0; i < schema_.size(); ++i) {
    const std::string& name = schema_.column(i).name();
    *learned.add_column() = CountsCategories(schema_.column(i))
                                ? categories_[i].Finish(name)
                                : numbers_[i].Finish(name);
  }
  learned.set_num_queries(num_queries_);
  learned.set_num_candidates(num_candidates_);
  learned.set_unicode_version(UnicodeVersion());
  return learned;
}

}  // namespace sortition
