#include "core/features/text/pair_measures.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/stable_math.h"

namespace sortition {
namespace {

constexpr size_t kBits = 64;

bool Is(const TextWords& words, size_t i, uint32_t kind) {
  return (words.kind(i) & kind) != 0;
}

bool Negated(const TextWords& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (Is(words, i, kNegation)) return true;
  }
  return false;
}

QuestionType QuestionOf(const TextWords& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const uint32_t question = words.kind(i) >> kQuestionShift;
    if (question == 0) continue;
    const auto type = static_cast<QuestionType>(question - 1);
    const bool quantity = type == QuestionType::kHow && i + 1 < words.size() &&
                          Is(words, i + 1, kQuantity);
    return quantity ? QuestionType::kHowMany : type;
  }
  return QuestionType::kOther;
}

// True if a place word stands at i, and a name behind it, perhaps with an
// article between.
bool NamesPlace(const TextWords& words, size_t i) {
  if (!Is(words, i, kPlaceWord)) return false;
  for (size_t j = i + 1; j < std::min(i + 3, words.size()); ++j) {
    if (Is(words, j, kCapital)) return true;
    if (!Is(words, j, kStopWord)) return false;
  }
  return false;
}

double Share(size_t count, size_t all) {
  return all == 0 ? 0 : static_cast<double>(count) / static_cast<double>(all);
}

}  // namespace

absl::string_view AnswerCueName(AnswerCue cue) {
  constexpr absl::string_view kNames[kNumAnswerCues] = {
      "name", "date", "number", "reason", "means", "place"};
  return kNames[static_cast<uint32_t>(cue)];
}

void PairMeasures::SetQuery(const TextWords& query, const Options& options) {
  options_ = options;
  num_words_ = query.size();
  negated_ = Negated(query);
  question_ = QuestionOf(query);
  SetContent(query);
  SetNumbers(query);
}

void PairMeasures::SetContent(const TextWords& query) {
  places_.clear();
  bigrams_.clear();
  weights_.clear();
  query_counts_.clear();
  sum_of_weights_ = 0;
  size_t num_content = 0;
  for (size_t i = 0; i < query.size(); ++i) {
    num_content += IsContent(query, i, *options_.words) ? 1 : 0;
  }
  num_positions_ = std::min(num_content, kMostSubsequenceWords);
  num_blocks_ = (num_positions_ + kBits - 1) / kBits;
  positions_.clear();
  uint64_t previous = 0;
  size_t position = 0;
  for (size_t i = 0; i < query.size(); ++i) {
    if (!IsContent(query, i, *options_.words)) continue;
    const uint64_t id = query.id(i);
    const auto [entry, is_new] =
        places_.emplace(id, static_cast<uint32_t>(weights_.size()));
    if (is_new) {
      weights_.push_back(options_.frequencies->Of(id));
      query_counts_.push_back(0);
      sum_of_weights_ += weights_.back();
      positions_.resize(positions_.size() + num_blocks_);
    }
    ++query_counts_[entry->second];
    if (position < num_positions_) {
      positions_[entry->second * num_blocks_ + position / kBits] |=
          uint64_t{1} << (position % kBits);
    }
    if (position > 0) {
      bigrams_.emplace(PairId(previous, id),
                       static_cast<uint32_t>(bigrams_.size()));
    }
    previous = id;
    ++position;
  }
}

void PairMeasures::SetNumbers(const TextWords& query) {
  numbers_.clear();
  for (size_t i = 0; i < query.size(); ++i) {
    if (!Is(query, i, kNumber)) continue;
    numbers_.emplace(query.id(i), static_cast<uint32_t>(numbers_.size()));
  }
}

PairFigures PairMeasures::Measure(const TextWords& candidate) {
  PairFigures figures;
  MeasureContent(candidate, &figures);
  MeasureNumbers(candidate, &figures);
  MeasureCues(candidate, &figures);
  figures.negation = Negated(candidate) == negated_ ? 1 : 0;
  figures.length_ratio = Share(std::min(num_words_, candidate.size()),
                               std::max(num_words_, candidate.size()));
  figures.log_length = stable::Log(1 + static_cast<double>(candidate.size()));
  return figures;
}

void PairMeasures::MeasureContent(const TextWords& candidate,
                                  PairFigures* figures) {
  counts_.assign(weights_.size(), 0);
  found_.assign(bigrams_.size(), 0);
  subsequence_.assign(num_blocks_, ~uint64_t{0});
  size_t length = 0, known = 0, num_bigrams = 0;
  uint64_t previous = 0;
  for (size_t i = 0; i < candidate.size(); ++i) {
    if (!IsContent(candidate, i, *options_.words)) continue;
    const uint64_t id = candidate.id(i);
    if (const auto word = places_.find(id); word != places_.end()) {
      ++known;
      ++counts_[word->second];
      StepSubsequence(word->second);
      const auto bigram =
          length > 0 ? bigrams_.find(PairId(previous, id)) : bigrams_.end();
      if (bigram != bigrams_.end() && found_[bigram->second] == 0) {
        found_[bigram->second] = 1;
        ++num_bigrams;
      }
    }
    previous = id;
    ++length;
  }
  size_t common = 0;
  for (size_t i = 0; i < num_positions_; ++i) {
    common += (subsequence_[i / kBits] >> (i % kBits) & 1) == 0 ? 1 : 0;
  }
  figures->bm25 = Bm25(static_cast<double>(length));
  figures->idf_overlap = IdfOverlap();
  figures->coverage = Share(known, length);
  figures->common_subsequence = Share(common, num_positions_);
  figures->bigram_overlap = Share(num_bigrams, bigrams_.size());
}

// One word of the candidate in the bit-parallel recurrence of [Hyyro04]:
// V := (V + (V & M)) | (V & ~M); zeros of V are the subsequence.
void PairMeasures::StepSubsequence(uint32_t place) {
  uint64_t carry = 0;
  for (size_t k = 0; k < num_blocks_; ++k) {
    const uint64_t matches = positions_[place * num_blocks_ + k];
    const uint64_t v = subsequence_[k];
    const uint64_t sum = v + (v & matches);
    const uint64_t with_carry = sum + carry;
    carry = sum < v || with_carry < sum ? 1 : 0;
    subsequence_[k] = with_carry | (v & ~matches);
  }
}

double PairMeasures::Bm25(double length) const {
  const double mean = options_.frequencies->mean_length();
  const double relative = mean > 0 ? length / mean : 1;
  const double norm = options_.k1 * (1 - options_.b + options_.b * relative);
  double score = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const double count = counts_[i];
    score += weights_[i] * count * (options_.k1 + 1) / (count + norm);
  }
  return score;
}

double PairMeasures::IdfOverlap() const {
  if (sum_of_weights_ == 0) return 0;
  double found = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (counts_[i] > 0) found += weights_[i];
  }
  return found / sum_of_weights_;
}

// Sums go over words as the texts have them, not over a hash table, whose order
// is not the same in every process.
double PairMeasures::TfIdfCosine(const TextWords& candidate) {
  distinct_.clear();
  ids_.clear();
  counts_.clear();
  for (size_t i = 0; i < candidate.size(); ++i) {
    if (!IsContent(candidate, i, *options_.words)) continue;
    const auto [entry, is_new] =
        distinct_.emplace(candidate.id(i), static_cast<uint32_t>(ids_.size()));
    if (is_new) {
      ids_.push_back(candidate.id(i));
      counts_.push_back(0);
    }
    ++counts_[entry->second];
  }
  double product = 0, query_squares = 0, squares = 0;
  for (size_t j = 0; j < weights_.size(); ++j) {
    const double value = query_counts_[j] * weights_[j];
    query_squares += value * value;
  }
  for (size_t j = 0; j < ids_.size(); ++j) {
    const double weight = options_.frequencies->Of(ids_[j]);
    const double value = counts_[j] * weight;
    squares += value * value;
    const auto in_query = places_.find(ids_[j]);
    if (in_query == places_.end()) continue;
    product += value * query_counts_[in_query->second] * weight;
  }
  const double norms = std::sqrt(query_squares) * std::sqrt(squares);
  return norms == 0 ? 0 : product / norms;
}

void PairMeasures::MeasureNumbers(const TextWords& candidate,
                                  PairFigures* figures) {
  found_.assign(numbers_.size(), 0);
  for (size_t i = 0; i < candidate.size(); ++i) {
    if (!Is(candidate, i, kNumber)) continue;
    const auto number = numbers_.find(candidate.id(i));
    if (number == numbers_.end()) {
      figures->numbers_new = 1;
    } else {
      found_[number->second] = 1;
    }
  }
  const auto shared =
      static_cast<size_t>(std::count(found_.begin(), found_.end(), uint8_t{1}));
  figures->numbers_shared = Share(shared, numbers_.size());
}

void PairMeasures::MeasureCues(const TextWords& candidate,
                               PairFigures* figures) const {
  constexpr size_t kManyNames = 3;
  figures->question = question_;
  const auto cue = [&](AnswerCue which) -> double& {
    return figures->cues[static_cast<uint32_t>(which)];
  };
  size_t num_names = 0;
  for (size_t i = 0; i < candidate.size(); ++i) {
    if (i > 0 && Is(candidate, i, kCapital) && !Is(candidate, i, kStopWord) &&
        !places_.contains(candidate.id(i))) {
      ++num_names;
    }
    if (Is(candidate, i, kYear | kMonth)) cue(AnswerCue::kDate) = 1;
    if (Is(candidate, i, kNumberWord)) cue(AnswerCue::kNumber) = 1;
    if (Is(candidate, i, kReason)) cue(AnswerCue::kReason) = 1;
    if (Is(candidate, i, kMeans)) cue(AnswerCue::kMeans) = 1;
    if (NamesPlace(candidate, i)) cue(AnswerCue::kPlace) = 1;
  }
  cue(AnswerCue::kName) = Share(std::min(num_names, kManyNames), kManyNames);
  if (figures->numbers_new > 0) cue(AnswerCue::kNumber) = 1;
}

}  // namespace sortition
