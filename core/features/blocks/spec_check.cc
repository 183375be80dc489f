#include "core/features/blocks/spec_check.h"

#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/annotated_range.h"
#include "core/base/status_macros.h"
#include "core/features/blocks/text_pair_block.h"
#include "core/features/schema/utf8.h"
#include "core/features/text/word_splitter.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using model::v1::FeatureSpec;
using model::v1::LearnedFeatures;
using model::v1::LearnedTransform;
using model::v1::TextPairTransform;
using model::v1::Transform;

constexpr size_t kMostPrefixBytes = 32;

// Checks one transform, and fills in its defaults.
class TransformCheck {
 public:
  TransformCheck(const Schema& schema, int index, Transform* transform)
      : schema_(schema),
        path_(absl::StrCat("transform[", index, "]")),
        transform_(*transform) {}

  absl::Status Run() {
    RETURN_IF_ERROR(CheckAnnotatedRanges(transform_, path_));
    RETURN_IF_ERROR(CheckPrefix());
    switch (transform_.kind_case()) {
      case Transform::kNumber:
        return CheckNumber();
      case Transform::kVocabulary:
        return CheckVocabulary();
      case Transform::kHash:
        FillBits(transform_.mutable_hash());
        return Column("hash.column", transform_.hash().column(),
                      {ColumnSchema::CATEGORY, ColumnSchema::CATEGORY_SET});
      case Transform::kCross:
        return CheckCross();
      case Transform::kNgrams:
        return CheckNgrams();
      case Transform::kTextPair:
        return CheckTextPair();
      case Transform::kVector:
        return Column("vector.column", transform_.vector().column(),
                      {ColumnSchema::VECTOR});
      case Transform::kCosine:
        return CheckCosine();
      case Transform::kPolynomial:
        if (transform_.polynomial().degree() == 0) {
          transform_.mutable_polynomial()->set_degree(2);
        }
        return Features("polynomial", transform_.polynomial().feature());
      case Transform::kRelative:
        return Features("relative", transform_.relative().feature());
      case Transform::KIND_NOT_SET:
        break;
    }
    return Error("kind",
                 "is not set, must be number, vocabulary, hash, cross, "
                 "ngrams, text_pair, vector, cosine, polynomial or "
                 "relative");
  }

 private:
  absl::Status Error(absl::string_view field, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ".", field, " ", what));
  }

  absl::Status CheckPrefix() const {
    const std::string& prefix = transform_.prefix();
    if (prefix.size() <= kMostPrefixBytes &&
        FindNotUtf8(prefix) == std::string::npos &&
        prefix.find_first_of(" \t\r\n\v\f,()~^*#=") == std::string::npos) {
      return absl::OkStatus();
    }
    return Error("prefix", absl::StrCat("is '", prefix, "', must be at most ",
                                        kMostPrefixBytes,
                                        " bytes without white space and , ( ) "
                                        "~ ^ * # ="));
  }

  // The column must be there, of one of the types, and of the scope if it is
  // given.
  absl::Status Column(
      absl::string_view field, const std::string& name,
      std::initializer_list<ColumnSchema::Type> types,
      std::optional<ColumnSchema::Scope> scope = std::nullopt) const {
    const std::optional<size_t> index = schema_.Find(name);
    const bool fits =
        index.has_value() &&
        absl::c_linear_search(types, schema_.column(*index).type()) &&
        (!scope.has_value() || schema_.column(*index).scope() == *scope);
    if (fits) return absl::OkStatus();
    const std::string permitted = absl::StrJoin(
        types, " or ", [](std::string* out, ColumnSchema::Type type) {
          absl::StrAppend(out, TypeName(type));
        });
    return Error(
        field, absl::StrCat("is '", name, "', must be a ", permitted, " column",
                            scope.has_value()
                                ? absl::StrCat(" of scope ",
                                               ColumnSchema::Scope_Name(*scope))
                                : ""));
  }

  absl::Status Features(
      absl::string_view field,
      const google::protobuf::RepeatedPtrField<std::string>& features) const {
    constexpr int kMostFeatures = 64;
    if (!features.empty() && features.size() <= kMostFeatures) {
      return absl::OkStatus();
    }
    return Error(absl::StrCat(field, ".feature"),
                 absl::StrCat("has ", features.size(),
                              " names, must have 1 to ", kMostFeatures));
  }

  template <typename Message>
  static void FillBits(Message* message) {
    constexpr uint32_t kUsualBits = 18;
    if (message->bits() == 0) message->set_bits(kUsualBits);
  }

  absl::Status CheckNumber() const {
    const auto& number = transform_.number();
    RETURN_IF_ERROR(
        Column("number.column", number.column(), {ColumnSchema::NUMBER}));
    if (number.has_clip_min() && number.has_clip_max() &&
        number.clip_min() > number.clip_max()) {
      return Error(
          "number.clip_min",
          absl::StrCat("is ", number.clip_min(),
                       ", must be at most clip_max = ", number.clip_max()));
    }
    if (number.standardise() && number.quantile_bins() > 0) {
      return Error("number.standardise",
                   "is true, must be false with quantile_bins");
    }
    return absl::OkStatus();
  }

  absl::Status CheckVocabulary() {
    constexpr uint32_t kUsualValues = 1000;
    auto* const vocabulary = transform_.mutable_vocabulary();
    if (vocabulary->most_values() == 0) {
      vocabulary->set_most_values(kUsualValues);
    }
    if (vocabulary->min_count() == 0) vocabulary->set_min_count(1);
    return Column("vocabulary.column", vocabulary->column(),
                  {ColumnSchema::CATEGORY, ColumnSchema::CATEGORY_SET,
                   ColumnSchema::TEXT});
  }

  absl::Status CheckCross() {
    const std::initializer_list<ColumnSchema::Type> types = {
        ColumnSchema::NUMBER, ColumnSchema::CATEGORY,
        ColumnSchema::CATEGORY_SET, ColumnSchema::TEXT};
    auto* const cross = transform_.mutable_cross();
    FillBits(cross);
    RETURN_IF_ERROR(Column("cross.left", cross->left(), types));
    RETURN_IF_ERROR(Column("cross.right", cross->right(), types));
    const auto is_text = [&](const std::string& name) {
      return schema_.column(*schema_.Find(name)).type() == ColumnSchema::TEXT;
    };
    if (cross->idf() && !is_text(cross->left()) && !is_text(cross->right())) {
      return Error("cross.idf",
                   "is true, must be false where neither column is a TEXT");
    }
    if ((cross->log1p() || cross->standardise()) &&
        CrossedNumbers(schema_, *cross).empty()) {
      return Error(cross->log1p() ? "cross.log1p" : "cross.standardise",
                   "is true, must be false where neither column is a NUMBER");
    }
    return CheckStemmer(cross->words().stemmer());
  }

  absl::Status CheckNgrams() {
    auto* const ngrams = transform_.mutable_ngrams();
    FillBits(ngrams);
    if (ngrams->longest() == 0) ngrams->set_longest(1);
    RETURN_IF_ERROR(
        Column("ngrams.column", ngrams->column(), {ColumnSchema::TEXT}));
    return CheckStemmer(ngrams->words().stemmer());
  }

  absl::Status CheckTextPair() {
    constexpr double kUsualK1 = 1.2;
    constexpr double kUsualB = 0.75;
    auto* const pair = transform_.mutable_text_pair();
    if (pair->bm25_k1() == 0) pair->set_bm25_k1(kUsualK1);
    if (!pair->has_bm25_b()) pair->set_bm25_b(kUsualB);
    RETURN_IF_ERROR(Column("text_pair.query", pair->query(),
                           {ColumnSchema::TEXT}, ColumnSchema::QUERY));
    RETURN_IF_ERROR(Column("text_pair.candidate", pair->candidate(),
                           {ColumnSchema::TEXT}, ColumnSchema::CANDIDATE));
    if (pair->measure().empty()) {
      return Error("text_pair.measure", "is empty, must have one or more");
    }
    return CheckStemmer(pair->words().stemmer());
  }

  absl::Status CheckCosine() const {
    const auto& cosine = transform_.cosine();
    RETURN_IF_ERROR(
        Column("cosine.left", cosine.left(), {ColumnSchema::VECTOR}));
    RETURN_IF_ERROR(
        Column("cosine.right", cosine.right(), {ColumnSchema::VECTOR}));
    const uint32_t left = schema_.column(*schema_.Find(cosine.left())).size();
    const uint32_t right = schema_.column(*schema_.Find(cosine.right())).size();
    if (left == right) return absl::OkStatus();
    return Error("cosine.right",
                 absl::StrCat("is '", cosine.right(), "' of size ", right,
                              ", must have the size ", left, " of '",
                              cosine.left(), "'"));
  }

  const Schema& schema_;
  const std::string path_;
  Transform& transform_;
};

absl::Status LearnedError(int index, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("learned.transform[", index, "].", what));
}

absl::Status CheckMoments(int index, const LearnedTransform& learned,
                          size_t size) {
  if (static_cast<size_t>(learned.mean_size()) != size ||
      static_cast<size_t>(learned.scale_size()) != size) {
    return LearnedError(
        index,
        absl::StrCat("mean and scale have ", learned.mean_size(), " and ",
                     learned.scale_size(), " values, must have ", size));
  }
  for (int j = 0; j < learned.mean_size(); ++j) {
    if (!std::isfinite(learned.mean(j))) {
      return LearnedError(index,
                          absl::StrCat("mean[", j, "] is ", learned.mean(j),
                                       ", must be finite"));
    }
    if (!std::isfinite(learned.scale(j)) || learned.scale(j) <= 0) {
      return LearnedError(index,
                          absl::StrCat("scale[", j, "] is ", learned.scale(j),
                                       ", must be above 0"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEdges(int index, const LearnedTransform& learned,
                        uint32_t bins) {
  if (static_cast<uint32_t>(learned.edges_size()) >
      (bins == 0 ? 0 : bins - 1)) {
    return LearnedError(index, absl::StrCat("edges has ", learned.edges_size(),
                                            " values, must have fewer than ",
                                            bins, ", the bins"));
  }
  for (int j = 0; j < learned.edges_size(); ++j) {
    if (!std::isfinite(learned.edges(j)) ||
        (j > 0 && learned.edges(j) <= learned.edges(j - 1))) {
      return LearnedError(index,
                          absl::StrCat("edges[", j, "] is ", learned.edges(j),
                                       ", must be finite and ascend"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FeatureSpec> CheckedSpec(const Schema& schema,
                                        const FeatureSpec& spec) {
  if (spec.transform_size() == 0 || spec.transform_size() > kMostTransforms) {
    return absl::InvalidArgumentError(
        absl::StrCat("spec has ", spec.transform_size(),
                     " transforms, must have 1 to ", kMostTransforms));
  }
  FeatureSpec checked = spec;
  for (int i = 0; i < checked.transform_size(); ++i) {
    RETURN_IF_ERROR(
        TransformCheck(schema, i, checked.mutable_transform(i)).Run());
  }
  return checked;
}

size_t NumStandardised(const Schema& schema, const Transform& transform) {
  switch (transform.kind_case()) {
    case Transform::kNumber:
      return transform.number().standardise() ? 1 : 0;
    case Transform::kVector:
      return transform.vector().standardise()
                 ? schema.column(*schema.Find(transform.vector().column()))
                       .size()
                 : 0;
    case Transform::kTextPair:
      return transform.text_pair().standardise()
                 ? NumPairFeatures(transform.text_pair())
                 : 0;
    case Transform::kCross:
      return transform.cross().standardise()
                 ? CrossedNumbers(schema, transform.cross()).size()
                 : 0;
    default:
      return 0;
  }
}

std::vector<std::string> CrossedNumbers(
    const Schema& schema, const model::v1::CrossTransform& transform) {
  std::vector<std::string> numbers;
  for (const std::string& side : {transform.left(), transform.right()}) {
    if (schema.column(*schema.Find(side)).type() == ColumnSchema::NUMBER) {
      numbers.push_back(side);
    }
  }
  return numbers;
}

absl::Status CheckLearned(const Schema& schema, const FeatureSpec& spec,
                          const LearnedFeatures& learned) {
  if (learned.transform_size() != spec.transform_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "learned has ", learned.transform_size(), " transforms, must have ",
        spec.transform_size(), ", as many as declared"));
  }
  for (int i = 0; i < spec.transform_size(); ++i) {
    const Transform& transform = spec.transform(i);
    const LearnedTransform& values = learned.transform(i);
    RETURN_IF_ERROR(
        CheckMoments(i, values, NumStandardised(schema, transform)));
    RETURN_IF_ERROR(CheckEdges(i, values, transform.number().quantile_bins()));
    if (!std::isfinite(values.fill())) {
      return LearnedError(
          i, absl::StrCat("fill is ", values.fill(), ", must be finite"));
    }
    for (const std::string& value : values.vocabulary()) {
      if (!value.empty() && FindNotUtf8(value) == std::string::npos) continue;
      return LearnedError(
          i, absl::StrCat("vocabulary has '", value, "', must be categories"));
    }
  }
  return absl::OkStatus();
}

}  // namespace sortition
