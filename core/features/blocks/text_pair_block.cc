#include "core/features/blocks/text_pair_block.h"

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

using model::v1::LearnedTransform;
using model::v1::TextPairTransform;

void AppendAnswerTypes(const PairFigures& figures, std::vector<double>* out) {
  for (uint32_t type = 0; type < kNumQuestionTypes; ++type) {
    const bool asked = type == static_cast<uint32_t>(figures.question);
    for (const double cue : figures.cues) out->push_back(asked ? cue : 0);
  }
}

// Appends what `measure` makes of the figures. Cosines are not among them.
void AppendMeasure(TextPairTransform::Measure measure,
                   const PairFigures& figures, std::vector<double>* out) {
  switch (measure) {
    case TextPairTransform::BM25:
      return out->push_back(figures.bm25);
    case TextPairTransform::IDF_OVERLAP:
      return out->push_back(figures.idf_overlap);
    case TextPairTransform::COVERAGE:
      return out->push_back(figures.coverage);
    case TextPairTransform::LONGEST_COMMON_SUBSEQUENCE:
      return out->push_back(figures.common_subsequence);
    case TextPairTransform::BIGRAM_OVERLAP:
      return out->push_back(figures.bigram_overlap);
    case TextPairTransform::NEGATION_AGREEMENT:
      return out->push_back(figures.negation);
    case TextPairTransform::NUMBER_AGREEMENT:
      out->push_back(figures.numbers_shared);
      return out->push_back(figures.numbers_new);
    case TextPairTransform::LENGTH_RATIO:
      out->push_back(figures.length_ratio);
      return out->push_back(figures.log_length);
    case TextPairTransform::ANSWER_TYPE:
      return AppendAnswerTypes(figures, out);
    default:
      return;
  }
}

void AppendNames(TextPairTransform::Measure measure, const std::string& pair,
                 std::vector<std::string>* names) {
  const auto add = [&](absl::string_view name) {
    names->push_back(absl::StrCat(name, pair));
  };
  switch (measure) {
    case TextPairTransform::BM25:
      return add("bm25");
    case TextPairTransform::IDF_OVERLAP:
      return add("idf_overlap");
    case TextPairTransform::COVERAGE:
      return add("coverage");
    case TextPairTransform::LONGEST_COMMON_SUBSEQUENCE:
      return add("common_subsequence");
    case TextPairTransform::BIGRAM_OVERLAP:
      return add("bigram_overlap");
    case TextPairTransform::NEGATION_AGREEMENT:
      return add("negation");
    case TextPairTransform::NUMBER_AGREEMENT:
      add("numbers_shared");
      return add("numbers_new");
    case TextPairTransform::LENGTH_RATIO:
      add("length_ratio");
      return add("log_length");
    case TextPairTransform::EMBEDDING_COSINE:
      return add("embedding_cosine");
    case TextPairTransform::TF_IDF_COSINE:
      return add("tf_idf_cosine");
    default:
      break;
  }
  for (uint32_t type = 0; type < kNumQuestionTypes; ++type) {
    for (uint32_t cue = 0; cue < kNumAnswerCues; ++cue) {
      names->push_back(
          absl::StrCat("answer", pair, "#",
                       QuestionTypeName(static_cast<QuestionType>(type)), "*",
                       AnswerCueName(static_cast<AnswerCue>(cue))));
    }
  }
}

std::vector<std::string> NamesOf(const TextPairTransform& transform,
                                 const std::string& pair) {
  std::vector<std::string> names;
  for (const int measure : transform.measure()) {
    AppendNames(static_cast<TextPairTransform::Measure>(measure), pair, &names);
  }
  return names;
}

class TextPairBlock : public DenseBlock {
 public:
  TextPairBlock(const TextPairPlaces& places,
                const TextPairTransform& transform,
                const LearnedTransform& learned)
      : places_(places), transform_(transform) {
    mean_.assign(NumPairFeatures(transform), 0.0);
    scale_.assign(mean_.size(), 1.0);
    if (!transform.standardise()) return;
    mean_.assign(learned.mean().begin(), learned.mean().end());
    scale_.assign(learned.scale().begin(), learned.scale().end());
  }

  std::vector<std::string> Names() const override {
    return NamesOf(transform_, absl::StrCat("(", places_.query.name, ",",
                                            places_.candidate.name, ")"));
  }

  void Apply(const FeatureInput& input, const DenseRows& rows, size_t first,
             BlockScratch* scratch) const override {
    const TextWords& query = input.texts[places_.query_slot].at(0);
    const TextSlot& candidates = input.texts[places_.candidate_slot];
    scratch->pairs.SetQuery(
        query, {.frequencies = places_.frequencies.get(),
                .words = &transform_.words(),
                .k1 = transform_.bm25_k1(),
                .b = transform_.has_bm25_b() ? transform_.bm25_b() : kUsualB});
    if (places_.vectors != nullptr) {
      scratch->query_sums.resize(places_.vectors->size());
      scratch->sums.resize(places_.vectors->size());
      places_.vectors->SumUp(query, transform_.words(), scratch->query_sums);
    }
    for (uint32_t i = 0; i < rows.num_rows; ++i) {
      WriteRow(candidates.at(i), rows.row(i).data() + first, scratch);
    }
  }

 private:
  static constexpr double kUsualB = 0.75;

  void WriteRow(const TextWords& candidate, double* out,
                BlockScratch* scratch) const {
    std::vector<double>& row = scratch->row;
    row.clear();
    const PairFigures figures = scratch->pairs.Measure(candidate);
    for (const int measure : transform_.measure()) {
      if (measure == TextPairTransform::EMBEDDING_COSINE) {
        places_.vectors->SumUp(candidate, transform_.words(), scratch->sums);
        row.push_back(Cosine(scratch->query_sums, scratch->sums));
      } else if (measure == TextPairTransform::TF_IDF_COSINE) {
        row.push_back(scratch->pairs.TfIdfCosine(candidate));
      } else {
        AppendMeasure(static_cast<TextPairTransform::Measure>(measure), figures,
                      &row);
      }
    }
    for (size_t i = 0; i < row.size(); ++i) {
      out[i] = (row[i] - mean_[i]) / scale_[i];
    }
  }

  const TextPairPlaces places_;
  const TextPairTransform transform_;
  std::vector<double> mean_;
  std::vector<double> scale_;
};

}  // namespace

size_t NumPairFeatures(const TextPairTransform& transform) {
  return NamesOf(transform, "").size();
}

std::unique_ptr<DenseBlock> MakeTextPairBlock(
    const TextPairPlaces& places, const TextPairTransform& transform,
    const LearnedTransform& learned) {
  return std::make_unique<TextPairBlock>(places, transform, learned);
}

}  // namespace sortition
