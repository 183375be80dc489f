#pragma once
// A model's features as text for people.
#include <string>

#include "core/features/feature_transform.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Returns lines with the schema and its hash, what each column and each feature
// that is not sparse was like in training, and the blocks of sparse ones.
// `transform` is made of `features`.
std::string DescribeFeatures(const model::v1::Features& features,
                             const FeatureTransform& transform);

// Returns a sentence if the model splits texts into words by the tables of
// another Unicode version than this program, else nothing: features of texts
// beyond ASCII may then differ from those in training and in the log.
std::string UnicodeNotice(const model::v1::Features& features);

}  // namespace sortition
