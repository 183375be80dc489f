#include "core/features/text/english.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "core/features/text/word_id.h"

namespace sortition {
namespace {

struct WordGroup {
  uint32_t kind;
  absl::string_view words;
};

constexpr uint32_t QuestionKind(QuestionType type) {
  return kStopWord | (static_cast<uint32_t>(type) + 1) << kQuestionShift;
}

constexpr WordGroup kGroups[] = {
    {kStopWord,
     "a an the of in on at to for from by with as and or but if than then that "
     "this these those it its is are was were be been being am do does did "
     "done "
     "doing has have had having can could will would shall should may might "
     "must i you he she we they me him her us them my your his our their there "
     "here also so such s 's"},
    {kNegation,
     "not no never none nor neither nobody nothing nowhere without cannot n't "
     "don't doesn't didn't isn't aren't wasn't weren't won't wouldn't can't "
     "couldn't shouldn't hasn't haven't hadn't"},
    {kMonth,
     "january february march april june july august september october november "
     "december"},
    {kNumberWord,
     "one two three four five six seven eight nine ten eleven twelve thirteen "
     "fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty "
     "fifty sixty seventy eighty ninety hundred thousand million billion dozen "
     "half first second third fourth fifth twice once"},
    {kReason,
     "because due since so reason reasons cause causes caused therefore thus "
     "owing order purpose"},
    {kMeans, "by through using via with means method"},
    {kPlaceWord, "in at near from on within along outside between"},
    {kQuantity, "many much long old far large big tall high often few fast"},
    {QuestionKind(QuestionType::kWho), "who whom whose"},
    {QuestionKind(QuestionType::kWhere), "where"},
    {QuestionKind(QuestionType::kWhen), "when"},
    {QuestionKind(QuestionType::kWhy), "why"},
    {QuestionKind(QuestionType::kHow), "how"},
    {QuestionKind(QuestionType::kWhich), "which"},
    {QuestionKind(QuestionType::kWhat), "what"},
};

absl::flat_hash_map<uint64_t, uint32_t> MakeKinds() {
  absl::flat_hash_map<uint64_t, uint32_t> kinds;
  for (const WordGroup& group : kGroups) {
    for (const absl::string_view word : absl::StrSplit(group.words, ' ')) {
      kinds[WordId(word)] |= group.kind;
    }
  }
  return kinds;
}

}  // namespace

absl::string_view QuestionTypeName(QuestionType type) {
  constexpr absl::string_view kNames[kNumQuestionTypes] = {
      "who",      "where", "when", "why",  "how",
      "how_many", "which", "what", "other"};
  return kNames[static_cast<uint32_t>(type)];
}

uint32_t EnglishKind(uint64_t id) {
  static const auto* const kinds =
      new absl::flat_hash_map<uint64_t, uint32_t>(MakeKinds());
  const auto found = kinds->find(id);
  return found == kinds->end() ? 0 : found->second;
}

}  // namespace sortition
