#include "bench/answers/answer_data.h"

#include <utility>

#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/features/feature_learning.h"

namespace sortition {
namespace {

using Queries = std::vector<LabelledColumns>;
using sortition::v1::Columns;

constexpr double kValidateShare = 0.2;
constexpr double kTakenOutShare = 1.0 / 3;

double NumberOf(const std::string& question, const char* use) {
  return UnitInterval(StableHash(HashDomain::kSplit, {use, question}));
}

absl::StatusOr<AnswerPart> MakePart(const FeatureTransform& transform,
                                    const Queries& queries) {
  AnswerPart part;
  FeatureScratch scratch;
  for (const LabelledColumns& query : queries) {
    part.features.emplace_back();
    RETURN_IF_ERROR(
        transform.Apply(query.columns, &scratch, &part.features.back()));
    part.relevances.push_back(query.relevances);
  }
  return part;
}

// Takes the right sentences out of the candidates of some questions.
Queries TakeOut(const Queries& queries) {
  Queries result;
  for (LabelledColumns query : queries) {
    if (NumberOf(query.id, "taken out") >= kTakenOutShare) {
      result.push_back(std::move(query));
      continue;
    }
    auto* const texts =
        query.columns.mutable_candidate(0)->mutable_texts()->mutable_values();
    int kept = 0;
    for (int i = 0; i < texts->size(); ++i) {
      if (query.relevances[static_cast<size_t>(i)] > 0) continue;
      texts->SwapElements(kept++, i);
    }
    if (kept == 0) continue;
    texts->DeleteSubrange(kept, texts->size() - kept);
    query.relevances.assign(static_cast<size_t>(kept), 0);
    query.columns.set_num_candidates(static_cast<uint32_t>(kept));
    result.push_back(std::move(query));
  }
  return result;
}

}  // namespace

std::vector<LabelledItems> AnswerPart::Items(
    uint32_t relevance, std::vector<std::vector<uint32_t>>* store) const {
  *store = relevances;
  std::vector<LabelledItems> items;
  for (size_t i = 0; i < size(); ++i) {
    for (uint32_t& each : (*store)[i]) each = each > 0 ? relevance : 0;
    items.push_back({features[i].View(), (*store)[i]});
  }
  return items;
}

absl::StatusOr<AnswerData> ReadAnswerData(const std::string& directory,
                                          const model::v1::FeatureSpec& spec) {
  ASSIGN_OR_RETURN(const Schema schema, Schema::Create(spec.schema()));
  ASSIGN_OR_RETURN(const Queries dev,
                   ReadQuestionTsv(directory + "/selqa-ass-dev.tsv", schema));
  ASSIGN_OR_RETURN(const Queries test,
                   ReadQuestionTsv(directory + "/selqa-ass-test.tsv", schema));
  Queries train, validate;
  for (const LabelledColumns& query : dev) {
    const bool validates = NumberOf(query.id, "validate") < kValidateShare;
    (validates ? validate : train).push_back(query);
  }
  ASSIGN_OR_RETURN(const model::v1::Features features,
                   LearnFeatures(spec, [&](QueryVisitor visit) {
                     for (const LabelledColumns& query : train) {
                       RETURN_IF_ERROR(visit(query.columns));
                     }
                     return absl::OkStatus();
                   }));
  ASSIGN_OR_RETURN(FeatureTransform transform,
                   FeatureTransform::Create(features));
  ASSIGN_OR_RETURN(AnswerPart train_part, MakePart(transform, train));
  ASSIGN_OR_RETURN(AnswerPart validate_part, MakePart(transform, validate));
  ASSIGN_OR_RETURN(AnswerPart test_part, MakePart(transform, test));
  ASSIGN_OR_RETURN(AnswerPart triggering_train,
                   MakePart(transform, TakeOut(train)));
  ASSIGN_OR_RETURN(AnswerPart triggering_validate,
                   MakePart(transform, TakeOut(validate)));
  ASSIGN_OR_RETURN(AnswerPart triggering_test,
                   MakePart(transform, TakeOut(test)));
  return AnswerData{std::move(transform),        std::move(train_part),
                    std::move(validate_part),    std::move(test_part),
                    std::move(triggering_train), std::move(triggering_validate),
                    std::move(triggering_test)};
}

}  // namespace sortition
