/* SPDX-License-Identifier: BSD-3-Clause */
#include "nof/features.h"

const struct nof_feature_info nof_feature_info[NOF_FEATURE_COUNT] = {
#define X(id, feature_name, kind, def, least, most, text, what) \
    [NOF_F_##id] = {feature_name, NOF_FEATURE_##kind, def, least, most, text, what},
    NOF_FEATURES(X)
#undef X
};
