#include "core/features/blocks/feature_blocks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/blocks/category_blocks.h"
#include "core/features/blocks/derived_blocks.h"
#include "core/features/blocks/hashed_blocks.h"
#include "core/features/blocks/number_blocks.h"
#include "core/features/blocks/spec_check.h"
#include "core/features/blocks/text_pair_block.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using model::v1::FeatureSpec;
using model::v1::LearnedFeatures;
using model::v1::LearnedTransform;
using model::v1::NgramTransform;
using model::v1::TextPairTransform;
using model::v1::Transform;
using model::v1::WordCounts;
using model::v1::Words;

class BlockMaker {
 public:
  BlockMaker(const Schema& schema, const LearnedFeatures& learned)
      : schema_(schema), learned_(learned) {}

  absl::Status Add(const Transform& transform, int index) {
    index_ = index;
    transform_ = &transform;
    const LearnedTransform& learned = learned_.transform(index);
    switch (transform.kind_case()) {
      case Transform::kNumber:
        return AddDense(MakeNumberBlock(Place(transform.number().column()),
                                        transform.number(), learned));
      case Transform::kVector: {
        const ColumnPlace place = Place(transform.vector().column());
        return AddDense(MakeVectorBlock(place,
                                        schema_.column(place.index).size(),
                                        transform.vector(), learned));
      }
      case Transform::kCosine:
        return AddDense(MakeCosineBlock(Place(transform.cosine().left()),
                                        Place(transform.cosine().right())));
      case Transform::kTextPair:
        return AddTextPair(transform.text_pair(), learned);
      case Transform::kPolynomial: {
        ASSIGN_OR_RETURN(const std::vector<FeaturePlace> features,
                         FeaturePlaces(transform.polynomial().feature()));
        return AddDense(MakePolynomialBlock(features, transform.polynomial()));
      }
      case Transform::kRelative: {
        ASSIGN_OR_RETURN(const std::vector<FeaturePlace> features,
                         FeaturePlaces(transform.relative().feature()));
        return AddDense(MakeRelativeBlock(features));
      }
      case Transform::kVocabulary: {
        const ColumnPlace place = Place(transform.vocabulary().column());
        return AddSparse(MakeVocabularyBlock(place, transform.vocabulary(),
                                             learned, IsSet(place)));
      }
      case Transform::kHash: {
        const ColumnPlace place = Place(transform.hash().column());
        return AddSparse(MakeHashBlock(place, transform.hash(), IsSet(place)));
      }
      case Transform::kNgrams:
        return AddNgrams(transform.ngrams(), learned);
      default: {
        int next = 0;
        ASSIGN_OR_RETURN(const CrossSide left,
                         Side(transform.cross().left(), learned, &next));
        ASSIGN_OR_RETURN(const CrossSide right,
                         Side(transform.cross().right(), learned, &next));
        return AddSparse(MakeCrossBlock(left, right, transform.cross()));
      }
    }
  }

  // Sparse features stand behind the dense ones.
  absl::StatusOr<FeatureBlocks> Finish() && {
    uint64_t next = blocks_.dense_names.size();
    for (FeatureBlocks::Sparse& sparse : blocks_.sparse) {
      sparse.first = static_cast<uint32_t>(next);
      next += sparse.block->size();
      if (next > FeatureBlocks::kMostFeatures) {
        return absl::InvalidArgumentError(absl::StrCat(
            "spec has more than ", FeatureBlocks::kMostFeatures, " features"));
      }
    }
    if (next == 0) {
      return absl::InvalidArgumentError(
          "spec has 0 features, must have at least 1");
    }
    blocks_.num_features = static_cast<uint32_t>(next);
    return std::move(blocks_);
  }

 private:
  ColumnPlace Place(const std::string& name) const {
    return {*schema_.Find(name), name};
  }

  bool IsSet(const ColumnPlace& place) const {
    return schema_.column(place.index).type() == ColumnSchema::CATEGORY_SET;
  }

  // Returns the slot of the column's words, which is shared.
  size_t Slot(const ColumnPlace& place, const Words& words) {
    std::vector<FeatureBlocks::Text>& texts = blocks_.texts;
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].column == place.index &&
          texts[i].stemmer == words.stemmer()) {
        return i;
      }
    }
    texts.push_back(
        {place.index, words.stemmer(),
         schema_.column(place.index).scope() == ColumnSchema::QUERY});
    return texts.size() - 1;
  }

  // `*next` is the index of the next number's mean and scale.
  absl::StatusOr<CrossSide> Side(const std::string& name,
                                 const LearnedTransform& learned, int* next) {
    const ColumnPlace place = Place(name);
    CrossSide side = {place, schema_.column(place.index).type()};
    if (side.type == ColumnSchema::NUMBER) {
      side.log1p = transform_->cross().log1p();
      if (transform_->cross().standardise()) {
        side.mean = learned.mean(*next);
        side.scale = learned.scale(*next);
        ++*next;
      }
      return side;
    }
    if (side.type != ColumnSchema::TEXT) return side;
    const Words& words = transform_->cross().words();
    side.slot = Slot(place, words);
    if (transform_->cross().idf()) {
      ASSIGN_OR_RETURN(side.frequencies, Frequencies(name, words));
    }
    return side;
  }

  absl::Status AddNgrams(const NgramTransform& transform,
                         const LearnedTransform& learned) {
    const ColumnPlace place = Place(transform.column());
    std::optional<PlaceFrequencies> frequencies;
    if (transform.idf()) {
      auto made =
          PlaceFrequencies::Create(learned, uint32_t{1} << transform.bits());
      if (!made.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "learned.transform[", index_, "].", made.status().message()));
      }
      frequencies = *std::move(made);
    }
    return AddSparse(MakeNgramBlock(place, Slot(place, transform.words()),
                                    transform, std::move(frequencies)));
  }

  absl::StatusOr<std::vector<FeaturePlace>> FeaturePlaces(
      const google::protobuf::RepeatedPtrField<std::string>& names) const {
    std::vector<FeaturePlace> places;
    for (const std::string& name : names) {
      const auto found = places_.find(name);
      if (found == places_.end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "transform[", index_, "].feature is '", name,
            "', must be a feature of a transform before it that is not "
            "sparse"));
      }
      places.push_back({found->second, name});
    }
    return places;
  }

  absl::Status AddTextPair(const TextPairTransform& transform,
                           const LearnedTransform& learned) {
    TextPairPlaces places;
    places.query = Place(transform.query());
    places.candidate = Place(transform.candidate());
    places.query_slot = Slot(places.query, transform.words());
    places.candidate_slot = Slot(places.candidate, transform.words());
    ASSIGN_OR_RETURN(places.frequencies,
                     Frequencies(transform.candidate(), transform.words()));
    if (std::count(transform.measure().begin(), transform.measure().end(),
                   TextPairTransform::EMBEDDING_COSINE) > 0) {
      ASSIGN_OR_RETURN(places.vectors, Vectors());
    }
    return AddDense(MakeTextPairBlock(places, transform, learned));
  }

  absl::StatusOr<std::shared_ptr<const InverseFrequencies>> Frequencies(
      const std::string& column, const Words& words) const {
    for (const WordCounts& counts : learned_.word_counts()) {
      if (counts.column() != column || !SameWords(counts.words(), words)) {
        continue;
      }
      ASSIGN_OR_RETURN(InverseFrequencies frequencies,
                       InverseFrequencies::Create(counts));
      return std::make_shared<const InverseFrequencies>(std::move(frequencies));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("learned.word_counts has none of column '", column,
                     "', must have those that transform[", index_, "] needs"));
  }

  absl::StatusOr<std::shared_ptr<const WordVectors>> Vectors() {
    if (learned_.word_vectors().word().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "learned.word_vectors is empty, must have the words that "
          "EMBEDDING_COSINE of transform[",
          index_, "] needs"));
    }
    if (vectors_ == nullptr) {
      ASSIGN_OR_RETURN(WordVectors vectors,
                       WordVectors::Create(learned_.word_vectors()));
      vectors_ = std::make_shared<const WordVectors>(std::move(vectors));
    }
    return vectors_;
  }

  absl::Status AddDense(std::unique_ptr<DenseBlock> block) {
    const std::vector<std::string> names = block->Names();
    const size_t first = blocks_.dense_names.size();
    if (first + names.size() > FeatureBlocks::kMostDense) {
      return absl::InvalidArgumentError(
          absl::StrCat("transform[", index_, "] makes ", first + names.size(),
                       " features that are not sparse, must be at most ",
                       FeatureBlocks::kMostDense));
    }
    for (const std::string& name : names) {
      const std::string full = absl::StrCat(transform_->prefix(), name);
      if (!places_.emplace(full, blocks_.dense_names.size()).second) {
        return TwiceError(full);
      }
      blocks_.dense_names.push_back(full);
    }
    blocks_.dense.push_back({std::move(block), index_, first, names.size()});
    return absl::OkStatus();
  }

  absl::Status AddSparse(std::unique_ptr<SparseBlock> block) {
    if (block->size() == 0) return absl::OkStatus();
    const std::string first =
        absl::StrCat(transform_->prefix(), block->Name(0));
    for (const FeatureBlocks::Sparse& other : blocks_.sparse) {
      if (absl::StrCat(other.prefix, other.block->Name(0)) == first) {
        return TwiceError(first);
      }
    }
    blocks_.sparse.push_back({std::move(block), 0, transform_->prefix()});
    return absl::OkStatus();
  }

  absl::Status TwiceError(absl::string_view name) const {
    return absl::InvalidArgumentError(
        absl::StrCat("transform[", index_, "] makes the feature '", name,
                     "' again, must have a prefix of its own"));
  }

  const Schema& schema_;
  const LearnedFeatures& learned_;
  int index_ = 0;
  const Transform* transform_ = nullptr;
  FeatureBlocks blocks_;
  absl::flat_hash_map<std::string, size_t> places_;  // Of dense features.
  std::shared_ptr<const WordVectors> vectors_;
};

}  // namespace

std::string FeatureBlocks::Name(uint32_t index) const {
  if (index < dense_names.size()) return dense_names[index];
  const auto behind = std::upper_bound(
      sparse.begin(), sparse.end(), index,
      [](uint32_t value, const Sparse& each) { return value < each.first; });
  const Sparse& found = *(behind - 1);
  return absl::StrCat(found.prefix, found.block->Name(index - found.first));
}

bool SameWords(const Words& a, const Words& b) {
  return a.stemmer() == b.stemmer() &&
         a.drop_english_stop_words() == b.drop_english_stop_words();
}

absl::StatusOr<FeatureBlocks> MakeFeatureBlocks(
    const Schema& schema, const FeatureSpec& spec,
    const LearnedFeatures& learned) {
  RETURN_IF_ERROR(CheckLearned(schema, spec, learned));
  BlockMaker maker(schema, learned);
  for (int i = 0; i < spec.transform_size(); ++i) {
    RETURN_IF_ERROR(maker.Add(spec.transform(i), i));
  }
  return std::move(maker).Finish();
}

}  // namespace sortition
