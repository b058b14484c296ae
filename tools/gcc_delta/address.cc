/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta.hh"

tree address_before(gimple *stmt, tree ref)
{
    gimple_stmt_iterator gsi = gsi_for_stmt(stmt);
    tree pointer = build_fold_addr_expr(unshare_expr(ref));
    tree name = make_ssa_name(TREE_TYPE(pointer));
    gassign *def = gimple_build_assign(name, pointer);
    gsi_insert_before(&gsi, def, GSI_SAME_STMT);
    return name;
}

/* By the loop's number. */
static std::vector<tree> latch_counts;

static tree count_latch(class loop *loop)
{
    class tree_niter_desc niter;
    edge exit = single_exit(loop);
    if (!exit || !number_of_iterations_exit(loop, exit, &niter, false))
        return NULL_TREE;
    if (chrec_contains_undetermined(niter.niter) || TYPE_PRECISION(TREE_TYPE(niter.niter)) > POINTER_SIZE)
        return NULL_TREE;
    tree zero = niter.may_be_zero;
    if (integer_zerop(zero))
        return to_u(niter.niter);
    if (!COMPARISON_CLASS_P(zero))
        return NULL_TREE;
    tree runs = fold_build2(EQ_EXPR, boolean_type_node, zero, boolean_false_node);
    return times(to_u(niter.niter), fold_convert(u_type(), runs));
}

void count_latches()
{
    latch_counts.assign(number_of_loops(cfun), NULL_TREE);
    for (auto loop : loops_list(cfun, 0))
        latch_counts[loop->num] = count_latch(loop);
}

tree latch_count(class loop *loop)
{
    return latch_counts[loop->num];
}

/* Is all of the expression known in front of `below`? */
struct known {
    edge below;
    bool all;
};

static tree leaf_known(tree *node, int *walk_subtrees, void *data)
{
    known *k = static_cast<known *>(data);
    tree t = *node;
    if (TREE_CODE(t) == SSA_NAME) {
        basic_block bb = gimple_bb(SSA_NAME_DEF_STMT(t));
        if ((bb && !dominated_by_p(CDI_DOMINATORS, k->below->src, bb)) || SSA_NAME_OCCURS_IN_ABNORMAL_PHI(t))
            k->all = false;
        *walk_subtrees = 0;
    } else if (TREE_CODE(t) == ADDR_EXPR) {
        /* An address is known; what lies there is not looked at. */
        tree base = get_base_address(TREE_OPERAND(t, 0));
        if (!base || !is_gimple_min_invariant(t))
            k->all = false;
        *walk_subtrees = 0;
    } else if (TREE_CODE(t) == POLYNOMIAL_CHREC || TREE_CODE_CLASS(TREE_CODE(t)) == tcc_reference ||
               DECL_P(t)) {
        k->all = false;
    }
    return k->all ? NULL_TREE : t;
}

static bool known_before(tree expression, edge below)
{
    known k = {below, true};
    walk_tree(&expression, leaf_known, &k, NULL);
    return k.all;
}

/* The loops around the access, from `outermost` to the innermost. */
static std::vector<level> levels_of(class loop *innermost, class loop *outermost)
{
    std::vector<level> levels;
    for (class loop *l = innermost; l; l = loop_outer(l)) {
        if (!outermost || (l != outermost && !flow_loop_nested_p(outermost, l)))
            break;
        levels.insert(levels.begin(), level{l, NULL_TREE, NULL_TREE});
    }
    return levels;
}

/* Writes a value inside the nest as a linear form of what is known before it. */
class evaluation
{
  public:
    /* What must hold for it, as of mem_access. */
    std::vector<narrow> narrows;

    evaluation(edge below, const std::vector<level> &levels) : below(below), levels(levels), nodes(0)
    {
    }

    bool value(tree t, linear *out)
    {
        clear(out);
        if (++nodes > 256)
            return false;
        switch (TREE_CODE(t)) {
        case INTEGER_CST:
            out->base = fold_convert(sizetype, t);
            return true;
        case SSA_NAME:
            return name(t, out);
        case ADDR_EXPR:
            return address(TREE_OPERAND(t, 0), out);
        case PLUS_EXPR:
        case MINUS_EXPR:
        case POINTER_PLUS_EXPR:
        case MULT_EXPR:
            return operation(TREE_CODE(t), TREE_TYPE(t), TREE_OPERAND(t, 0), TREE_OPERAND(t, 1), out);
        case NEGATE_EXPR:
        CASE_CONVERT:
            return operation(TREE_CODE(t), TREE_TYPE(t), TREE_OPERAND(t, 0), NULL_TREE, out);
        default:
            return false;
        }
    }

  private:
    edge below;
    const std::vector<level> &levels;
    int nodes;

    void clear(linear *out)
    {
        out->base = size_zero_node;
        out->steps.assign(levels.size(), NULL_TREE);
        out->root = NULL_TREE;
    }

    static bool invariant(const linear &x)
    {
        for (tree step : x.steps)
            if (step)
                return false;
        return true;
    }

    void add(linear *x, const linear &y)
    {
        x->base = fold_build2(PLUS_EXPR, sizetype, x->base, y.base);
        for (size_t i = 0; i < levels.size(); i++)
            if (y.steps[i])
                x->steps[i] =
                    x->steps[i] ? fold_build2(PLUS_EXPR, sizetype, x->steps[i], y.steps[i]) : y.steps[i];
        if (!x->root)
            x->root = y.root;
    }

    void scale(linear *x, tree by)
    {
        x->base = fold_build2(MULT_EXPR, sizetype, x->base, by);
        for (tree &step : x->steps)
            if (step)
                step = fold_build2(MULT_EXPR, sizetype, step, by);
    }

    bool name(tree t, linear *out)
    {
        gimple *def = SSA_NAME_DEF_STMT(t);
        if (!number(TREE_TYPE(t)))
            return false;
        if (known_before(t, below)) {
            out->base = fold_convert(sizetype, t);
            out->root = POINTER_TYPE_P(TREE_TYPE(t)) ? root_of(t) : NULL_TREE;
            return true;
        }
        if (gphi *phi = dyn_cast<gphi *>(def))
            return gimple_phi_num_args(phi) == 1 ? value(gimple_phi_arg_def(phi, 0), out) : carried(phi, out);
        if (!is_gimple_assign(def) || gimple_vuse(def))
            return false;
        tree_code code = gimple_assign_rhs_code(def);
        tree a = gimple_assign_rhs1(def), b = gimple_num_ops(def) > 2 ? gimple_assign_rhs2(def) : NULL_TREE;
        if (code == SSA_NAME || code == ADDR_EXPR || code == INTEGER_CST)
            return value(a, out);
        if (CONVERT_EXPR_CODE_P(code) && number(TREE_TYPE(a)) && !exact(TREE_TYPE(a)) &&
            converted_count(t, out))
            return true;
        return operation(code, TREE_TYPE(t), a, b, out);
    }

    /* What a loop counts. */
    bool carried(gphi *phi, linear *out)
    {
        class loop *loop = gimple_bb(phi)->loop_father;
        size_t at = 0;
        while (at < levels.size() && levels[at].loop != loop)
            at++;
        if (at == levels.size() || loop->header != gimple_bb(phi))
            return false;
        return counted(loop, at, analyze_scalar_evolution(loop, gimple_phi_result(phi)), out);
    }

    bool counted(class loop *loop, size_t at, tree chrec, linear *out)
    {
        linear step;
        if (TREE_CODE(chrec) != POLYNOMIAL_CHREC || CHREC_VARIABLE(chrec) != (unsigned)loop->num)
            return false;
        if (!value(CHREC_LEFT(chrec), out) || out->steps[at] || !value(CHREC_RIGHT(chrec), &step) ||
            !invariant(step))
            return false;
        out->steps[at] = step.base;
        return true;
    }

    static bool number(tree type)
    {
        return POINTER_TYPE_P(type) || (INTEGRAL_TYPE_P(type) && TYPE_PRECISION(type) <= POINTER_SIZE);
    }

    /* Are sums and products those of the numbers, or, of 64 bits, the same modulo 2^64? Else they may wrap, and what is
     * computed here is the number modulo 2^precision alone. */
    static bool exact(tree type)
    {
        return POINTER_TYPE_P(type) || TYPE_PRECISION(type) == POINTER_SIZE || TYPE_OVERFLOW_UNDEFINED(type);
    }

    /* A number that may have wrapped goes on as one that has not: nothing has wrapped if it is small everywhere. */
    bool conversion(tree to, tree t, linear *out)
    {
        tree from = TREE_TYPE(t);
        if (!number(to) || !number(from) || !value(t, out))
            return false;
        if (!exact(to) && TYPE_PRECISION(to) <= TYPE_PRECISION(from))
            return true; /* wraps as well */
        if (exact(from) && TYPE_PRECISION(to) >= TYPE_PRECISION(from))
            return true;
        if (TREE_CODE(t) == SSA_NAME && TYPE_PRECISION(to) > TYPE_PRECISION(from) && known_before(t, below))
            return true;
        narrows.push_back(narrow{*out, MIN(TYPE_PRECISION(to), TYPE_PRECISION(from)) - 1});
        return true;
    }

    /* Does the compiler know that the sum that a loop makes does not wrap? */
    bool converted_count(tree t, linear *out)
    {
        class loop *loop = gimple_bb(SSA_NAME_DEF_STMT(t))->loop_father;
        for (size_t at = 0; at < levels.size(); at++)
            if (levels[at].loop == loop && exact(TREE_TYPE(t))) {
                size_t before = narrows.size();
                if (counted(loop, at, analyze_scalar_evolution(loop, t), out) && narrows.size() == before)
                    return true;
                narrows.resize(before);
                clear(out);
            }
        return false;
    }

    bool operation(tree_code code, tree type, tree a, tree b, linear *out)
    {
        linear y;
        if (CONVERT_EXPR_CODE_P(code))
            return conversion(type, a, out);
        if (!number(type) || !value(a, out))
            return false;
        switch (code) {
        case PLUS_EXPR:
        case POINTER_PLUS_EXPR:
            if (!value(b, &y))
                return false;
            add(out, y);
            return true;
        case MINUS_EXPR:
            if (!value(b, &y))
                return false;
            scale(&y, size_int(-1));
            add(out, y);
            return true;
        case NEGATE_EXPR:
            scale(out, size_int(-1));
            return true;
        case LSHIFT_EXPR:
            if (!tree_fits_uhwi_p(b) || tree_to_uhwi(b) >= 32)
                return false;
            scale(out, size_int(HOST_WIDE_INT_1U << tree_to_uhwi(b)));
            return true;
        case MULT_EXPR:
            if (!value(b, &y))
                return false;
            if (!invariant(y))
                std::swap(*out, y);
            scale(out, y.base);
            return invariant(y);
        default:
            return false;
        }
    }

    bool address(tree ref, linear *out)
    {
        poly_int64 bits, at;
        tree offset;
        machine_mode mode;
        int is_unsigned, reverse, is_volatile;
        tree base =
            get_inner_reference(ref, &bits, &at, &offset, &mode, &is_unsigned, &reverse, &is_volatile);
        HOST_WIDE_INT where;
        linear y;
        if (!at.is_constant(&where) || where % BITS_PER_UNIT != 0)
            return false;
        where /= BITS_PER_UNIT;
        if (TREE_CODE(base) == MEM_REF) {
            if (!value(TREE_OPERAND(base, 0), out))
                return false;
            out->base =
                fold_build2(PLUS_EXPR, sizetype, out->base, fold_convert(sizetype, TREE_OPERAND(base, 1)));
        } else {
            tree pointer = DECL_P(base) ? build_fold_addr_expr(base) : NULL_TREE;
            if (!pointer || !is_gimple_min_invariant(pointer))
                return false;
            out->base = fold_convert(sizetype, pointer);
            out->root = base;
        }
        out->base = fold_build2(PLUS_EXPR, sizetype, out->base, size_int(where));
        if (!offset)
            return true;
        if (!value(offset, &y))
            return false;
        add(out, y);
        return true;
    }
};

const char *analyze(mem_access *a, edge below, class loop *outermost)
{
    linear form;
    a->levels = levels_of(a->loop, outermost);
    evaluation address(below, a->levels);
    if (!address.value(a->address, &form))
        return "its address is not affine";
    for (size_t i = 0; i < a->levels.size(); i++) {
        level *l = &a->levels[i];
        if (form.steps[i] && !integer_zerop(form.steps[i]))
            l->step = form.steps[i];
        tree count = latch_count(l->loop);
        if (count && known_before(count, below))
            l->niter = count;
    }
    a->base = form.base;
    a->root = form.root;
    a->narrows = address.narrows;
    for (const narrow &n : a->narrows)
        for (size_t i = 0; i < a->levels.size(); i++)
            if (n.value.steps[i] && !a->levels[i].niter)
                return "its index may wrap";
    return NULL;
}

bool base_difference(const mem_access &a, const mem_access &b, HOST_WIDE_INT *bytes_out)
{
    hash_map<tree, name_expansion *> *cache = NULL;
    aff_tree x, y;
    tree_to_aff_combination_expand(a.base, sizetype, &x, &cache);
    tree_to_aff_combination_expand(b.base, sizetype, &y, &cache);
    aff_combination_scale(&y, -1);
    aff_combination_add(&x, &y);
    free_affine_expand_cache(&cache);
    if (x.n != 0 || x.rest || !x.offset.is_constant())
        return false;
    widest_int offset = wi::sext(x.offset.coeffs[0], TYPE_PRECISION(sizetype));
    if (!wi::fits_shwi_p(offset))
        return false;
    *bytes_out = offset.to_shwi();
    return true;
}

tree root_of(tree t)
{
    for (int steps = 0; steps < 32; steps++) {
        gimple *def;
        switch (TREE_CODE(t)) {
        case SSA_NAME:
            def = SSA_NAME_DEF_STMT(t);
            if (gimple_code(def) == GIMPLE_PHI && gimple_phi_num_args(def) == 1) {
                t = gimple_phi_arg_def(def, 0);
                continue;
            }
            if (!is_gimple_assign(def) || gimple_vuse(def))
                return t;
            switch (gimple_assign_rhs_code(def)) {
            case POINTER_PLUS_EXPR:
            case SSA_NAME:
            case ADDR_EXPR:
            CASE_CONVERT:
                t = gimple_assign_rhs1(def);
                continue;
            default:
                return t;
            }
        case ADDR_EXPR:
            t = get_base_address(TREE_OPERAND(t, 0));
            continue;
        case MEM_REF:
            t = TREE_OPERAND(t, 0);
            continue;
        default:
            return t;
        }
    }
    return t;
}

int sign_of(tree step)
{
    tree value = fold_convert(ssizetype, step);
    return TREE_CODE(value) == INTEGER_CST ? tree_int_cst_sgn(value) : 0;
}

class loop *nest_around(basic_block bb, basic_block origin)
{
    class loop *found = NULL;
    for (class loop *l = bb->loop_father; loop_outer(l); l = loop_outer(l))
        if (!flow_bb_inside_loop_p(l, origin))
            found = l;
    return found;
}
