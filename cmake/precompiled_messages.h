#pragma once
// As precompiled.h, with the generated headers that most sources outside of
// core include. A change of these protos rebuilds nearly everything anyway.
#include "precompiled.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "sortition/model/v1/serving.pb.h"
#include "sortition/v1/ranking.pb.h"
