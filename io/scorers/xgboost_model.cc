#include "io/scorers/xgboost_model.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/stable_math.h"
#include "core/base/status_macros.h"
#include "core/scoring/tree_check.h"
#include "io/scorers/xgboost_tree.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::TreeEnsemble;

// How the file's base score becomes a margin: the inverse of what is applied to
// a margin to predict.
enum class BaseScore { kMargin, kLogit, kLogarithm };

struct Objective {
  absl::string_view name;
  BaseScore base_score = BaseScore::kMargin;
  TreeEnsemble::OutputTransform transform = TreeEnsemble::IDENTITY;
};

constexpr Objective kObjectives[] = {
    {"rank:ndcg"},
    {"rank:pairwise"},
    {"rank:map"},
    {"binary:logistic", BaseScore::kLogit, TreeEnsemble::SIGMOID},
    {"binary:logitraw"},
    {"binary:hinge", BaseScore::kMargin, TreeEnsemble::OTHER},
    {"reg:squarederror"},
    {"reg:linear"},
    {"reg:squaredlogerror"},
    {"reg:pseudohubererror"},
    {"reg:absoluteerror"},
    {"reg:quantileerror"},
    {"reg:logistic", BaseScore::kLogit, TreeEnsemble::SIGMOID},
    {"reg:gamma", BaseScore::kLogarithm, TreeEnsemble::EXPONENTIAL},
    {"reg:tweedie", BaseScore::kLogarithm, TreeEnsemble::EXPONENTIAL},
    {"count:poisson", BaseScore::kLogarithm, TreeEnsemble::EXPONENTIAL},
};

absl::StatusOr<Objective> FindObjective(const DocumentField& field) {
  ASSIGN_OR_RETURN(const absl::string_view name, field.Text());
  std::string names;
  for (const Objective& objective : kObjectives) {
    if (objective.name == name) return objective;
    absl::StrAppend(&names, names.empty() ? "" : ", ", objective.name);
  }
  return field.Wrong(absl::StrCat("one of ", names));
}

// The number of a field, which may be text: "5E-1" up to version 3.0, "[5E-1]"
// later.
absl::StatusOr<float> ReadBaseScore(const DocumentField& field) {
  if (const auto* number = std::get_if<double>(&field.value->content)) {
    return static_cast<float>(*number);
  }
  ASSIGN_OR_RETURN(absl::string_view text, field.Text());
  if (absl::ConsumePrefix(&text, "[")) absl::ConsumeSuffix(&text, "]");
  float value = 0;
  if (!ParseNumber(text, &value)) return field.Wrong("one number");
  return value;
}

absl::StatusOr<float> ReadMargin(const DocumentField& field,
                                 BaseScore base_score) {
  ASSIGN_OR_RETURN(const float value, ReadBaseScore(field));
  switch (base_score) {
    case BaseScore::kMargin:
      if (!std::isfinite(value)) return field.Wrong("finite");
      return value;
    case BaseScore::kLogit: {
      const float odds = 1.0f / value - 1.0f;
      if (!(odds > 0) || !std::isfinite(odds)) {
        return field.Wrong("above 0 and below 1: a probability");
      }
      return static_cast<float>(-stable::Log(static_cast<double>(odds)));
    }
    case BaseScore::kLogarithm:
      if (!(value > 0) || !std::isfinite(value)) {
        return field.Wrong("finite and above 0");
      }
      return static_cast<float>(stable::Log(static_cast<double>(value)));
  }
  return field.Wrong("one number");
}

// Model files begin to have their present form with version 1.0.
absl::Status CheckVersion(const DocumentField& root) {
  ASSIGN_OR_RETURN(const DocumentField version, root.Member("version"));
  ASSIGN_OR_RETURN(const std::span<const double> numbers, version.Numbers());
  if (numbers.empty() || !(numbers[0] >= 1 && numbers[0] < 4)) {
    return version.Wrong(
        "the version of XGBoost that saved the model, from 1.0 to 3.x");
  }
  return absl::OkStatus();
}

// A member that may be absent must be an integer in [min, max].
absl::Status CheckIfPresent(const DocumentField& object, const char* name,
                            int64_t min, int64_t max) {
  if (!object.Has(name)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const DocumentField field, object.Member(name));
  return field.Integer(min, max).status();
}

absl::Status ReadFeatureNames(const DocumentField& learner,
                              TreeEnsemble* ensemble) {
  if (!learner.Has("feature_names")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const DocumentField field, learner.Member("feature_names"));
  ASSIGN_OR_RETURN(const std::vector<DocumentField> names, field.Items());
  if (!names.empty() && names.size() != ensemble->num_features()) {
    return field.Wrong(
        absl::StrCat("an array of ", ensemble->num_features(), " names"));
  }
  for (const DocumentField& name : names) {
    ASSIGN_OR_RETURN(const absl::string_view text, name.Text());
    ensemble->add_feature_names(std::string(text));
  }
  return absl::OkStatus();
}

// The trees, and the weight of each, which is 1 unless they are of DART.
struct Booster {
  DocumentField model;
  DocumentField weights_field = {};
  std::span<const double> weights = {};
};

absl::StatusOr<Booster> ReadBooster(const DocumentField& learner) {
  ASSIGN_OR_RETURN(const DocumentField field,
                   learner.Member("gradient_booster"));
  ASSIGN_OR_RETURN(const DocumentField name_field, field.Member("name"));
  ASSIGN_OR_RETURN(const absl::string_view name, name_field.Text());
  Booster booster;
  if (name == "gbtree") {
    ASSIGN_OR_RETURN(booster.model, field.Member("model"));
  } else if (name == "dart") {
    ASSIGN_OR_RETURN(const DocumentField trees, field.Member("gbtree"));
    ASSIGN_OR_RETURN(booster.model, trees.Member("model"));
    ASSIGN_OR_RETURN(booster.weights_field, field.Member("weight_drop"));
    ASSIGN_OR_RETURN(booster.weights, booster.weights_field.Numbers());
  } else {
    return name_field.Wrong("gbtree or dart: other boosters have no trees");
  }
  return booster;
}

// The codes of categories that version 3.1 stores beside the trees.
absl::Status RefuseRecoding(const DocumentField& model) {
  if (!model.Has("cats")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const DocumentField cats, model.Member("cats"));
  if (!cats.Has("enc")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const DocumentField codes, cats.Member("enc"));
  ASSIGN_OR_RETURN(const std::vector<DocumentField> items, codes.Items());
  if (items.empty()) return absl::OkStatus();
  return codes.Wrong("empty: categories must be numbers");
}

absl::Status ReadTrees(const Booster& booster, TreeEnsemble* ensemble) {
  RETURN_IF_ERROR(RefuseRecoding(booster.model));
  ASSIGN_OR_RETURN(const DocumentField field, booster.model.Member("trees"));
  ASSIGN_OR_RETURN(const std::vector<DocumentField> trees, field.Items());
  if (trees.empty() || trees.size() > kMaxTrees) {
    return field.Wrong(absl::StrCat("an array of 1 to ", kMaxTrees, " trees"));
  }
  const bool is_dart = booster.weights_field.value != nullptr;
  if (is_dart && booster.weights.size() != trees.size()) {
    return booster.weights_field.Wrong(
        absl::StrCat("an array of ", trees.size(), " numbers, one for a tree"));
  }
  if (booster.model.Has("tree_info")) {
    ASSIGN_OR_RETURN(const DocumentField info,
                     booster.model.Member("tree_info"));
    ASSIGN_OR_RETURN(const std::span<const double> classes, info.Numbers());
    for (size_t i = 0; i < classes.size(); ++i) {
      if (classes[i] != 0) return info.WrongNumber(i, "0, the only class");
    }
  }
  TreeBudget budget;
  for (size_t i = 0; i < trees.size(); ++i) {
    const auto weight = is_dart ? static_cast<float>(booster.weights[i]) : 1.0f;
    ASSIGN_OR_RETURN(*ensemble->add_trees(),
                     ConvertXgboostTree(trees[i], ensemble->num_features(),
                                        weight, &budget));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status XgboostDumpError() {
  return absl::InvalidArgumentError(
      "the file is a dump of trees (dump_model), which has lost base_score and "
      "the objective; save the model by save_model as .json or .ubj");
}

absl::StatusOr<TreeEnsemble> ConvertXgboostModel(
    const DocumentValue& document) {
  const DocumentField root{&document};
  if (root.Has("nodeid")) return XgboostDumpError();
  if (root.Has("tree_info")) {
    return absl::InvalidArgumentError(
        "the file is LightGBM's dump_model; save the model by save_model as "
        "text");
  }
  RETURN_IF_ERROR(CheckVersion(root));
  ASSIGN_OR_RETURN(const DocumentField learner, root.Member("learner"));
  ASSIGN_OR_RETURN(const DocumentField objective_field,
                   learner.Member("objective"));
  ASSIGN_OR_RETURN(const DocumentField name, objective_field.Member("name"));
  ASSIGN_OR_RETURN(const DocumentField param,
                   learner.Member("learner_model_param"));
  // Before the objective: this says why several classes are refused.
  RETURN_IF_ERROR(CheckIfPresent(param, "num_class", 0, 1));
  RETURN_IF_ERROR(CheckIfPresent(param, "num_target", 0, 1));
  ASSIGN_OR_RETURN(const Objective objective, FindObjective(name));
  TreeEnsemble ensemble;
  ensemble.set_number_format(TreeEnsemble::FLOAT);
  ensemble.set_absent_feature(TreeEnsemble::MISSING);
  ensemble.set_objective(std::string(objective.name));
  ensemble.set_output_transform(objective.transform);
  ASSIGN_OR_RETURN(const DocumentField base_score, param.Member("base_score"));
  ASSIGN_OR_RETURN(const float margin,
                   ReadMargin(base_score, objective.base_score));
  ensemble.set_base_score(static_cast<double>(margin));
  ASSIGN_OR_RETURN(const DocumentField num_features,
                   param.Member("num_feature"));
  ASSIGN_OR_RETURN(const int64_t features,
                   num_features.Integer(1, kMaxTreeFeatures));
  ensemble.set_num_features(static_cast<uint32_t>(features));
  RETURN_IF_ERROR(ReadFeatureNames(learner, &ensemble));
  ASSIGN_OR_RETURN(const Booster booster, ReadBooster(learner));
  RETURN_IF_ERROR(ReadTrees(booster, &ensemble));
  return ensemble;
}

}  // namespace sortition
