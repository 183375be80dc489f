#include "core/features/suggest/suggest_features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/features/blocks/spec_check.h"
#include "core/features/suggest/column_notes.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using model::v1::TextPairTransform;
using model::v1::Transform;

// A feature is declared only if there are as many candidates for each, so that
// its weight can be learned. Plain numbers and measures of texts are few, and
// are always declared.
constexpr double kCandidatesPerFeature = 50;
constexpr double kNumBins[] = {8, 4};  // As many as there is data for.
constexpr double kMostVocabulary = 1000;
constexpr double kMaxTexts = 100;     // Values of a text that is a category.
constexpr double kMostCrossed = 100;  // Values of a category in a cross.
constexpr double kMaxSegments =
    50;  // Values of a category that multiplies numbers.
constexpr size_t kMaxPairs = 6;  // Pairs of texts.
constexpr size_t kMostProductFactors = 8;
constexpr uint64_t kMinCandidatesOfNgrams = 400000;
constexpr uint32_t kMostBits = 18;
constexpr uint32_t kMinBits = 4;
constexpr uint64_t kMostHashed = 8;  // Transforms that share max_features.
// Share of the words of an English text that are stop words, at least.
constexpr double kEnglishStopWords = 0.1;

bool IsText(const ColumnProfile& column) {
  return column.type == ColumnSchema::TEXT;
}
bool IsCategory(const ColumnProfile& column) {
  return column.type == ColumnSchema::CATEGORY ||
         column.type == ColumnSchema::CATEGORY_SET;
}

class Suggester {
 public:
  Suggester(const ColumnProfiles& profiles, const SuggestOptions& options)
      : profiles_(profiles), options_(options) {}

  absl::StatusOr<FeatureSuggestion> Run() {
    for (const ColumnProfile& column : profiles_.columns) {
      std::string reason =
          ReasonToLeaveOut(column, profiles_.num_queries, options_.can_abstain);
      if (!reason.empty()) {
        result_.left_out.emplace_back(column.name, std::move(reason));
        continue;
      }
      (column.scope == ColumnSchema::QUERY ? query_ : candidate_)
          .push_back(&column);
    }
    AddTextPairs();
    AddNumbers();
    AddVectors();
    AddRelative();
    AddBins();
    AddProducts();
    AddCategories();
    AddCrosses();
    AddNgrams();
    LeaveOutUnused();
    if (result_.spec.transform().empty()) return NothingError();
    AddSchema();
    return std::move(result_);
  }

 private:
  // Returns a new transform that reads the columns, or null if there are too
  // many.
  Transform* Add(std::string note,
                 const std::vector<const ColumnProfile*>& columns) {
    if (result_.spec.transform_size() == kMostTransforms) return nullptr;
    for (const ColumnProfile* const column : columns) used_.insert(column);
    result_.transform_notes.push_back(std::move(note));
    return result_.spec.add_transform();
  }

  // Returns whether there is room for so many dense features, and takes it.
  bool TakeRoom(size_t num_features) {
    const double most =
        std::max(64.0, static_cast<double>(profiles_.num_candidates) /
                           kCandidatesPerFeature);
    if (num_extra_ + static_cast<double>(num_features) > most) return false;
    num_extra_ += static_cast<double>(num_features);
    return true;
  }

  // Returns whether max_features allows for so many sparse features, and takes
  // them.
  bool TakeSparse(double num_features) {
    if (options_.max_features == 0) return true;
    if (num_sparse_ + num_features >
        static_cast<double>(options_.max_features)) {
      return false;
    }
    num_sparse_ += num_features;
    return true;
  }

  // Returns how many bits hash so many values with few collisions, and takes
  // the features; 0 where max_features does not allow for a useful number.
  uint32_t TakeBits(double num_values) {
    const double wanted = std::ceil(std::log2(std::max(2.0, 4 * num_values)));
    auto bits =
        static_cast<uint32_t>(std::clamp<double>(wanted, kMinBits, kMostBits));
    if (options_.max_features > 0) {
      // Room for several of them.
      const auto most = static_cast<uint32_t>(
          std::bit_width(options_.max_features / kMostHashed));
      bits = std::min(bits, std::max(most, 1u) - 1);
    }
    constexpr double kMostPerPlace = 2;
    if (bits < kMinBits || num_values > kMostPerPlace * std::exp2(bits)) {
      return 0;
    }
    return TakeSparse(std::exp2(bits)) ? bits : 0;
  }

  bool IsEnglish(const ColumnProfile& a, const ColumnProfile& b) const {
    return std::max(a.stop_words, b.stop_words) >= kEnglishStopWords;
  }

  void AddTextPairs() {
    size_t num_pairs = 0;
    for (const ColumnProfile* const query : query_) {
      if (!IsText(*query)) continue;
      for (const ColumnProfile* const candidate : candidate_) {
        if (!IsText(*candidate) || num_pairs == kMaxPairs) continue;
        ++num_pairs;
        AddTextPair(*query, *candidate);
      }
    }
  }

  void AddTextPair(const ColumnProfile& query, const ColumnProfile& candidate) {
    using Pair = TextPairTransform;
    const bool is_english = IsEnglish(query, candidate);
    const bool asks = is_english && query.like_questions >= 0.5;
    const auto start = [&](std::string note) {
      Transform* const transform = Add(std::move(note), {&query, &candidate});
      if (transform == nullptr) return transform;
      Pair& pair = *transform->mutable_text_pair();
      pair.set_query(query.name);
      pair.set_candidate(candidate.name);
      pair.set_standardise(true);
      return transform;
    };
    Transform* const transform = start(absl::StrCat(
        "How well the text ", candidate.name, " fits ", query.name, ". ",
        is_english ? "English: words are stemmed, without stop words."
                   : "Few English stop words: words are taken as they are; "
                     "for another language set words.stemmer.",
        asks ? " Most are questions: ANSWER_TYPE looks for the kind of answer."
             : ""));
    if (transform == nullptr) return;
    Pair& pair = *transform->mutable_text_pair();
    if (is_english) {
      pair.mutable_words()->set_stemmer("english");
      pair.mutable_words()->set_drop_english_stop_words(true);
    }
    for (const auto measure :
         {Pair::BM25, Pair::IDF_OVERLAP, Pair::TF_IDF_COSINE, Pair::COVERAGE,
          Pair::LONGEST_COMMON_SUBSEQUENCE, Pair::BIGRAM_OVERLAP,
          Pair::NUMBER_AGREEMENT, Pair::LENGTH_RATIO}) {
      pair.add_measure(measure);
    }
    if (is_english) pair.add_measure(Pair::NEGATION_AGREEMENT);
    if (asks) pair.add_measure(Pair::ANSWER_TYPE);
    if (options_.has_word_vectors) pair.add_measure(Pair::EMBEDDING_COSINE);
    const std::string names =
        absl::StrCat("(", query.name, ",", candidate.name, ")");
    relative_texts_.push_back(absl::StrCat("bm25", names));
    relative_texts_.push_back(absl::StrCat("idf_overlap", names));
    if (!is_english) return;
    Transform* const words =
        start("The same with words as they are, since stemming loses some.");
    if (words == nullptr) return;
    words->set_prefix("words.");
    for (const auto measure :
         {Pair::BM25, Pair::IDF_OVERLAP, Pair::LONGEST_COMMON_SUBSEQUENCE,
          Pair::BIGRAM_OVERLAP}) {
      words->mutable_text_pair()->add_measure(measure);
    }
  }

  void AddNumbers() {
    for (const ColumnProfile* const column : candidate_) {
      if (column->type == ColumnSchema::NUMBER) AddNumber(*column);
    }
    const bool has_numbers = !numbers_.empty();
    for (const ColumnProfile* const column : query_) {
      if (column->type != ColumnSchema::NUMBER) continue;
      // Alone it cancels in an order; products with numbers of candidates do
      // not.
      if (has_numbers || options_.can_abstain) AddNumber(*column);
    }
  }

  void AddNumber(const ColumnProfile& column) {
    const bool is_missing = HasMissing(column);
    const bool is_heavy = IsHeavyTailed(column);
    Transform* const transform = Add(
        absl::StrCat(
            is_heavy
                ? absl::StrFormat("Not negative, and 99 %% reach %.4g where "
                                  "the median is %.4g: log1p. ",
                                  column.high, column.median)
                : "",
            "Standardised, so that one regularisation fits all",
            is_missing ? "; a missing value counts as the mean, and has an "
                         "indicator of its own"
                       : "",
            ".",
            column.scope == ColumnSchema::QUERY
                ? " Of the query: matters in products with candidates, and "
                  "for abstaining."
                : ""),
        {&column});
    if (transform == nullptr) return;
    auto& number = *transform->mutable_number();
    number.set_column(column.name);
    number.set_log1p(is_heavy);
    number.set_standardise(true);
    number.set_missing_indicator(is_missing);
    std::string feature =
        is_heavy ? absl::StrCat("log1p(", column.name, ")") : column.name;
    (column.scope == ColumnSchema::QUERY ? query_numbers_ : numbers_)
        .emplace_back(&column, std::move(feature));
  }

  void AddVectors() {
    for (const ColumnProfile* const column : candidate_) {
      if (column->type != ColumnSchema::VECTOR) continue;
      for (const ColumnProfile* const query : query_) {
        if (query->type != ColumnSchema::VECTOR ||
            query->size != column->size) {
          continue;
        }
        Transform* const cosine =
            Add("Vectors of one size: how near they are.", {query, column});
        if (cosine == nullptr) return;
        cosine->mutable_cosine()->set_left(query->name);
        cosine->mutable_cosine()->set_right(column->name);
      }
      if (!TakeRoom(column->size)) {
        LeaveOutFeature(*column, absl::StrCat("a weight for each of the ",
                                              column->size, " numbers"));
        continue;
      }
      Transform* const vector = Add("A weight for each number.", {column});
      if (vector == nullptr) return;
      vector->mutable_vector()->set_column(column->name);
      vector->mutable_vector()->set_standardise(true);
    }
  }

  // Measures of texts and numbers, compared with the other candidates.
  void AddRelative() {
    std::vector<std::string> names = relative_texts_;
    std::vector<std::string> numbers;
    for (const auto& [column, feature] : numbers_) {
      if (column->num_varying * 10 >= column->num_compared &&
          column->num_varying > 0) {
        numbers.push_back(feature);
      }
    }
    if (TakeRoom(2 * numbers.size())) {
      names.insert(names.end(), numbers.begin(), numbers.end());
    } else {
      result_.left_out.emplace_back(
          "relative of numbers",
          absl::StrFormat("%d features more are too many for %d candidates",
                          2 * numbers.size(), profiles_.num_candidates));
    }
    constexpr size_t kMostNames = 64;
    for (size_t i = 0; i < names.size(); i += kMostNames) {
      Transform* const transform =
          Add("Compared with the other candidates of the query, among which "
              "they differ.",
              {});
      if (transform == nullptr) return;
      for (size_t j = i; j < std::min(names.size(), i + kMostNames); ++j) {
        transform->mutable_relative()->add_feature(names[j]);
      }
    }
  }

  // An indicator per range of each number: what is best may lie in the middle.
  void AddBins() {
    const auto bins_of = [](const ColumnProfile& column, double most) {
      return static_cast<uint32_t>(std::min(most, column.num_distinct));
    };
    for (const double most : kNumBins) {
      size_t all = 0;
      for (const auto& [column, feature] : numbers_) {
        all += bins_of(*column, most);
      }
      if (all == 0 || !TakeRoom(all)) continue;
      for (const auto& [column, feature] : numbers_) {
        // Two values have a weight each already.
        if (column->num_distinct < 3) continue;
        Transform* const transform =
            Add(column->num_distinct <= most
                    ? "Few values: an indicator of each."
                    : "An indicator per range: the best value may be in the "
                      "middle.",
                {column});
        if (transform == nullptr) return;
        transform->mutable_number()->set_column(column->name);
        transform->mutable_number()->set_quantile_bins(bins_of(*column, most));
      }
      return;
    }
    if (numbers_.empty()) return;
    result_.left_out.emplace_back(
        "ranges of numbers (quantile_bins)",
        absl::StrFormat("too many features for %d candidates",
                        profiles_.num_candidates));
  }

  void AddProducts() {
    std::vector<std::string> features;
    for (const auto* const numbers : {&query_numbers_, &numbers_}) {
      for (const auto& [column, feature] : *numbers) {
        features.push_back(feature);
      }
    }
    const size_t n = features.size();
    if (n < 2) return;
    if (n > kMostProductFactors || !TakeRoom(n * (n - 1) / 2)) {
      result_.left_out.emplace_back(
          "products of numbers",
          absl::StrFormat("%d features more are too many: name those that go "
                          "together in a polynomial",
                          n * (n - 1) / 2));
      return;
    }
    Transform* const transform =
        Add("Numbers that matter together, as price and stars may.", {});
    if (transform == nullptr) return;
    for (std::string& feature : features) {
      transform->mutable_polynomial()->add_feature(std::move(feature));
    }
    transform->mutable_polynomial()->set_only_crosses(true);
  }

  void AddCategories() {
    for (const ColumnProfile* const column : candidate_) {
      if (IsCategory(*column)) AddCategory(*column);
      if (IsText(*column)) AddRepeatedTexts(*column);
    }
    if (!options_.can_abstain) return;
    for (const ColumnProfile* const column : query_) {
      if (IsCategory(*column)) AddCategory(*column);
    }
  }

  // An application that sends strings without types sends categories as texts.
  void AddRepeatedTexts(const ColumnProfile& column) {
    const double distinct = column.num_distinct;
    if (distinct < 2 || distinct > kMaxTexts ||
        static_cast<double>(column.num_values) <
            kCandidatesPerFeature * distinct ||
        !TakeSparse(distinct)) {
      return;
    }
    Transform* const transform = Add(
        absl::StrFormat("Only %.0f different texts: an indicator of each. If "
                        "they are categories, send them as such "
                        "(categories), so that they are also crossed with "
                        "columns of the query.",
                        distinct),
        {&column});
    if (transform == nullptr) return;
    transform->mutable_vocabulary()->set_column(column.name);
    transform->mutable_vocabulary()->set_most_values(
        static_cast<uint32_t>(kMaxTexts));
    if (column.num_values >= 1000) {
      transform->mutable_vocabulary()->set_min_count(3);
    }
    transform->mutable_vocabulary()->set_missing_indicator(HasMissing(column));
    repeated_texts_.insert(&column);
  }

  void AddCategory(const ColumnProfile& column) {
    const double distinct = column.num_distinct;
    if (distinct <= kMostVocabulary && TakeSparse(distinct)) {
      Transform* const transform = Add(
          absl::StrFormat("%.0f values: an indicator of each%s.%s", distinct,
                          column.num_values >= 1000
                              ? " that is there three times or more"
                              : "",
                          column.scope == ColumnSchema::QUERY
                              ? " Of the query: matters for abstaining."
                              : ""),
          {&column});
      if (transform == nullptr) return;
      auto& vocabulary = *transform->mutable_vocabulary();
      vocabulary.set_column(column.name);
      vocabulary.set_most_values(static_cast<uint32_t>(kMostVocabulary));
      if (column.num_values >= 1000) vocabulary.set_min_count(3);
      vocabulary.set_unknown_indicator(distinct > 20);
      vocabulary.set_missing_indicator(HasMissing(column));
      return;
    }
    const uint32_t bits = TakeBits(distinct);
    if (bits == 0) return LeaveOutFeature(column, "a hash of its values");
    Transform* const transform =
        Add(absl::StrFormat("About %.0f values, many for a vocabulary: "
                            "hashed to %d places.",
                            distinct, 1 << bits),
            {&column});
    if (transform == nullptr) return;
    transform->mutable_hash()->set_column(column.name);
    transform->mutable_hash()->set_bits(bits);
  }

  void AddCrosses() {
    for (const ColumnProfile* const left : query_) {
      if (!IsCategory(*left) && !IsText(*left)) continue;
      for (const ColumnProfile* const right : candidate_) {
        AddCross(*left, *right);
      }
    }
  }

  void AddCross(const ColumnProfile& left, const ColumnProfile& right) {
    const double pairs = left.num_distinct * right.num_distinct;
    if (IsText(left)) {
      if (!IsCategory(right) || right.num_distinct > kMostCrossed) return;
      constexpr double kWords = 100;
      // Otherwise nothing tells what the text asks for.
      const bool is_all =
          std::none_of(candidate_.begin(), candidate_.end(),
                       [](const auto* c) { return IsText(*c); });
      if (!is_all && kWords * right.num_distinct * kCandidatesPerFeature >
                         static_cast<double>(profiles_.num_candidates)) {
        return LeaveOutFeature(
            left, absl::StrCat("its words with each ", right.name));
      }
      Transform* const transform = MakeCross(
          left, right, kWords * right.num_distinct,
          "Which words of the query go with which value of the candidate.");
      if (transform == nullptr) return;
      auto& cross = *transform->mutable_cross();
      cross.set_idf(true);
      if (!IsEnglish(left, left)) return;
      cross.mutable_words()->set_stemmer("english");
      cross.mutable_words()->set_drop_english_stop_words(true);
      return;
    }
    if (right.type == ColumnSchema::NUMBER) {
      // The query may decide if a high or a low value is better.
      if (left.num_distinct > kMaxSegments || !IsHeavyTailed(right)) return;
      Transform* const transform =
          MakeCross(left, right, left.num_distinct,
                    "A weight of the number for each value of the query.");
      if (transform == nullptr) return;
      transform->mutable_cross()->set_log1p(true);
      transform->mutable_cross()->set_standardise(true);
    } else if (IsCategory(right) &&
               std::min(left.num_distinct, right.num_distinct) <=
                   kMostCrossed) {
      MakeCross(left, right, pairs,
                "The same for all candidates, the query matters only "
                "together with a column of theirs.");
    }
  }

  Transform* MakeCross(const ColumnProfile& left, const ColumnProfile& right,
                       double num_pairs, std::string note) {
    const uint32_t bits = TakeBits(num_pairs);
    if (bits == 0) {
      LeaveOutFeature(left, absl::StrCat("its cross with ", right.name));
      return nullptr;
    }
    Transform* const transform = Add(std::move(note), {&left, &right});
    if (transform == nullptr) return nullptr;
    transform->mutable_cross()->set_left(left.name);
    transform->mutable_cross()->set_right(right.name);
    transform->mutable_cross()->set_bits(bits);
    return transform;
  }

  void AddNgrams() {
    for (const ColumnProfile* const column : candidate_) {
      if (!IsText(*column) || repeated_texts_.contains(column)) continue;
      if (profiles_.num_candidates < kMinCandidatesOfNgrams) {
        LeaveOutFeature(
            *column,
            absl::StrFormat("its words (ngrams), which need %d candidates; "
                            "there are %d",
                            kMinCandidatesOfNgrams, profiles_.num_candidates));
        continue;
      }
      constexpr double kWords = 4096;
      const uint32_t bits = TakeBits(kWords);
      if (bits == 0) {
        LeaveOutFeature(*column, "its words (ngrams)");
        continue;
      }
      Transform* const transform =
          Add("Words that are good or bad whatever the query.", {column});
      if (transform == nullptr) return;
      auto& ngrams = *transform->mutable_ngrams();
      ngrams.set_column(column->name);
      ngrams.set_longest(1);
      ngrams.set_bits(bits);
      ngrams.set_normalise(true);
      ngrams.set_idf(true);
      if (!IsEnglish(*column, *column)) continue;
      ngrams.mutable_words()->set_stemmer("english");
      ngrams.mutable_words()->set_drop_english_stop_words(true);
    }
  }

  // Leaves out features of a column that has others, or may have none.
  void LeaveOutFeature(const ColumnProfile& column, absl::string_view what) {
    result_.left_out.emplace_back(
        column.name,
        absl::StrCat(what, options_.max_features > 0
                               ? ": too little data, or too wide for dense rows"
                               : ": too little data for it"));
  }

  void LeaveOutUnused() {
    for (const auto* const columns : {&query_, &candidate_}) {
      for (const ColumnProfile* const column : *columns) {
        if (used_.contains(column)) continue;
        result_.left_out.emplace_back(
            column->name,
            column->scope == ColumnSchema::QUERY
                ? "of the query, and no column of the candidates to compare "
                  "or cross it with"
                : "no transform fits it");
      }
    }
    std::stable_sort(
        result_.left_out.begin(), result_.left_out.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  void AddSchema() {
    for (const ColumnProfile& column : profiles_.columns) {
      if (!used_.contains(&column)) continue;
      ColumnSchema& schema = *result_.spec.mutable_schema()->add_column();
      schema.set_name(column.name);
      schema.set_type(column.type);
      schema.set_scope(column.scope);
      schema.set_size(column.size);
      if (column.num_queries < profiles_.num_queries) schema.set_missing(true);
      result_.column_notes.push_back(
          DescribeColumn(column, profiles_.num_queries));
    }
  }

  bool HasMissing(const ColumnProfile& column) const {
    return column.num_missing > 0 || column.num_queries < profiles_.num_queries;
  }

  absl::Status NothingError() const {
    return absl::FailedPreconditionError(absl::StrCat(
        "no column can make features: ",
        result_.left_out.empty()
            ? "there are none"
            : absl::StrJoin(result_.left_out, "; ",
                            [](std::string* out, const auto& each) {
                              absl::StrAppend(out, each.first, ": ",
                                              each.second);
                            })));
  }

  const ColumnProfiles& profiles_;
  const SuggestOptions& options_;
  FeatureSuggestion result_;
  std::vector<const ColumnProfile*> query_;
  std::vector<const ColumnProfile*> candidate_;
  std::set<const ColumnProfile*> used_;
  std::set<const ColumnProfile*> repeated_texts_;
  // With the names of their features.
  std::vector<std::pair<const ColumnProfile*, std::string>> numbers_;
  std::vector<std::pair<const ColumnProfile*, std::string>> query_numbers_;
  std::vector<std::string> relative_texts_;
  double num_extra_ = 0;   // Dense features that TakeRoom() granted.
  double num_sparse_ = 0;  // Features that TakeSparse() granted.
};

}  // namespace

absl::StatusOr<FeatureSuggestion> SuggestFeatures(
    const ColumnProfiles& profiles, const SuggestOptions& options) {
  return Suggester(profiles, options).Run();
}

std::string SuggestionText(const FeatureSuggestion& suggestion,
                           absl::string_view source) {
  std::string text = absl::StrCat(
      "# Draft of a FeatureSpec (docs/features.md) from ", source, ".\n");
  if (!suggestion.left_out.empty()) {
    absl::StrAppend(&text, "# Left out:\n");
    for (const auto& [name, reason] : suggestion.left_out) {
      absl::StrAppend(&text, kLeftOutBegin, name, ": ", reason, "\n");
    }
  }
  absl::StrAppend(&text, "schema {\n");
  for (int i = 0; i < suggestion.spec.schema().column_size(); ++i) {
    absl::StrAppend(&text, "  # ", suggestion.column_notes[i], "\n  column { ",
                    suggestion.spec.schema().column(i).ShortDebugString(),
                    " }\n");
  }
  absl::StrAppend(&text, "}\n");
  for (int i = 0; i < suggestion.spec.transform_size(); ++i) {
    absl::StrAppend(&text, "# ", suggestion.transform_notes[i],
                    "\ntransform { ",
                    suggestion.spec.transform(i).ShortDebugString(), " }\n");
  }
  return text;
}

std::string ColumnList(const ColumnProfiles& profiles) {
  return absl::StrJoin(profiles.columns, ", ",
                       [](std::string* out, const ColumnProfile& column) {
                         absl::StrAppend(out, column.name, " (",
                                         TypeName(column.type), ")");
                       });
}

}  // namespace sortition
