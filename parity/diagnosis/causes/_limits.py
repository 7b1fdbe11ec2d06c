"""The numeric limits of the causes, each with the reason for its value."""

from __future__ import annotations

# --- what a value is compared with ----------------------------------------------------------------
CLOSE = 1e-5  # relative, where a proposal is tried at first: what holds is tried in full
SAME_PARAMETER = 1e-6  # relative, of numbers that are solved for from float32 constants
SAME_BASE = 1e-4  # likewise, of a power with half a head's width for its exponent
ALIKE_BASES = 1e-3  # likewise, of one that was read off and is no round number
SAME_ADVANTAGE = 1e-6  # relative, of float32 weights in float64
CORRECTION_EPSILON = 1e-4  # absolute: an epsilon in the correction is smaller where tanh bends
MASKED = -1e6  # the logarithm of the probability of a masked element
ROUNDED_CONSTANT = 0.02  # relative: two digits are the fewest that anyone leaves
SAME_CONSTANT = 3e-7  # relative: what differs less is one number in float32
SAME_VARIANCE = 1e-7  # relative, of an element
SAME_ROW = 1e-9  # relative, of sums with random weights in float64
SIMILAR_VARIANCE = 1e-2  # relative: two models' running variances, not one with another epsilon
FLAT = 1e-3  # a smaller slope is half of x, or a half: no activation
HUGE_INPUT = 1e6  # there the epsilon is nothing
FAR_OUT = 1e30  # no bound lies there
TINY_INPUT = 1e-8  # and there it is nearly all
HIDDEN = -1e7  # a score below this is masked
WEIGHT_SCALE = 1e6  # no one scales a weight by more
SIGMAS_OF_SHARE = 5  # that a share of zeros may be off its rate

# --- how much is looked at or tried ---------------------------------------------------------------
VALUES_TRIED = 24  # of a region, in the order of the flow: each may cost a replay
ELEMENTS_AT_FIRST = 64  # of which most formulas are ruled out
OPS_BEFORE_A_VALUE = 12  # that may give it a constant
CORRECTIONS_AT_FIRST = 256  # elements: fewer may all be where tanh saturates
CURVE_POINTS = 512  # of each trial
CURVE_POINTS_AT_FIRST = 16  # most curves are ruled out by few points
OPS_OF_A_LAYER = 40  # more are not one layer's activation, but a loop
OPS_OF_AN_ACTIVATION = 9  # a hand-written GELU has eight
TURNED_VALUES = 12  # of a region, that may be so by positions
PAIRS_OF_VALUES = 60  # between which an activation is looked for
OPS_BESIDE_A_BIAS = 24  # of a region in which nothing else differs
VECTORS_OF_A_NORM = 10  # among which the roles in a norm are looked for
BYPASSES_TRIED = 24  # a region of many operations is no simple wiring
SOURCES_TRIED = 24  # as many
OPERANDS_LAID = 8  # of a region, each in all ways: that many runs of it
MOST_PARTS = 64  # along an axis, where all ways to group them are tried
INPUTS_EXCHANGED = 4  # of one shape
GROUPS_EXCHANGED = 6  # of values that a loop reads: fifteen pairs, and two of those at once
GROUPS_TRIED = 64  # with a value in the place of each
TURNS_TRIED = 16  # of a loop, or layers, one made of the other: each costs a run
OPS_OF_TURNS = 600  # of a region: each group costs runs of it
OPS_OF_A_LINE = 4  # one made of the other, by which the results of a line are distinguished
EQUAL_VALUES = 24  # that are looked at
SCALES_TRIED = 4  # values of a region that scale another
CONSTANTS_TRIED = 8  # of each side
SLICES_RUN = 64  # of an axis that was not reduced: the rest runs once for each
GATES_EXCHANGED = 40  # ways to exchange gates, each of which costs a replay
VALUES_EXCHANGED = 5  # read by a region whose gates may be exchanged
OPS_OF_A_STEP = 40  # of a recurrent layer; more are several steps
RESETS_TRIED = 8  # values that may be a GRU's reset
STEPS_PUT_FIRST = 32  # one after another: each costs a run
STATES_REVERSED = 24  # values that may be states
OPS_RUN_ALONE = 20_000  # to see whether each step starts from zero
OPS_OF_A_LONG_LOOP = 150  # in which only the usual is tried
NEWTON_STEPS = 12  # the shift of a bias is found in three or four
NUMBERS_OF_STATES = 1 << 20  # of a layer that is computed in NumPy
BIASES_TRIED = 4  # of one width that may be a layer's
LAYERS_TRIED = 1000  # of which the first steps are computed
STEPS_AT_FIRST = 2  # that show whether a layer may be the reference's
SCORES_COMPUTED = 1 << 24  # more are no attention, but rows of a batch
POSITIONS_SHOWN = 6  # in a summary
COUNTED = 0.5  # of an index's steps that are 1: padding may stand still
AXES_OF_PLACES = 4  # of which each order is tried
NUMBERS_SHOWN = 6  # of an index
SHIFTS_TRIED = range(1, 4)  # steps that a summary names
IMAGES_AT_FIRST = 4  # and channels: most ways to resize are ruled out by few
PADDING_BEYOND = 2  # a window's own size: padding a 1x1 convolution is odd, but done
STARTS_TRIED = 8  # places at which a window's result may begin
PLACES_LOOKED_UP = 6  # of it along each axis
STRIDES_TRIED = range(1, 9)  # larger ones only where the operation states them
CONVOLUTIONS_IN_A_ROW = 4  # of which another may have the stride
STRIDES_ASSUMED = 4  # where none is known
PARTS_JOINED = 8  # more are an order of channels
FACTORS_BEHIND = 2  # that a value is multiplied by after a region
FACTORS_CHANGED = 16  # numbers that terms are multiplied by, at once
MATRICES_TURNED = 12  # square ones that a region reads
OPERANDS_EXCHANGED = 40  # pairs of values: a loop reads more, and is no product of two
NUMBERS_PUT_IN = 6  # where a shift does not wrap around
ROLLS_TRIED = 4  # places of the first number, should others be equal to it
ROWS_COMPARED = 1 << 22  # numbers of a value, to find the places of its rows
OTHER_LAYERS_TRIED = 48  # in the place of a region's: each costs a replay
SPLITS_OF_A_REGION = 6  # of an axis into three or more: each has five orders, or 23
SPLITS_TRIED = 24  # of an axis
CHANGES_TRIED = 64  # sets of weights that may differ
LAYOUTS_TRIED = 24  # of one weight
WEIGHTS_CHANGED = 6  # at once
STEPS_TRIED = 4  # of an order, should the first numbers be equal to others
AXES_OF_AN_ORDER = 8  # more are no order that anyone means

# --- how far what belongs together may be ---------------------------------------------------------
OPS_TO_THE_SUM = 3  # behind a region in which value and advantages may be added
OPS_TO_THE_ATOMS = 2  # behind a region in which atoms become probabilities
STEPS_TO_PROBABILITIES = 3  # behind logits, of four operations each: a log-sum-exp has eight
OPS_BEFORE_A_MOVE = 3  # among which the other model may have it as well
OPS_TO_THE_NOISE = 3  # between a scale and what it scales
OPS_TO_AN_ACTION = 8  # behind the squashing of an action
OPS_OF_A_NORM = 8  # computing ones, before a value that may have normalised it
OPS_TO_A_LAYER = 40  # behind a region in which what it lacks may follow
OPS_OF_AN_AFFINE = 2  # behind a norm that may be its scale and offset
OPS_OF_A_PREPARATION = 4  # between an input and what is made of it beforehand
OPS_TO_A_BLOCK = 8  # from a gate to the block that it is cut from
OPS_TO_A_PRODUCT = 12  # from scores to the product that gives them
OPS_BEHIND_A_STEP = 3  # that may come before it: a product, its bias and a bound
OPS_TO_A_COUNT = 6  # from a divisor to the sum that it is, with bounds and casts on the way
OPS_BEFORE_A_REGION = 6  # that show what it works on
OPS_TO_A_CONVOLUTION = 24  # that says what the axes of a value are

# --- what chance explains as well -----------------------------------------------------------------
ELEMENTS_OF_A_SUM = 5  # the ratio of sum and mean; a smaller one may be any factor
ELEMENTS_OF_A_MASK = 8  # of fewer a mask may be chance
STEPS_REVERSED = 3  # two are halves that have changed places
PARTS_ROLLED = 6  # by any number; more parts only by one
PARTS_ORDERED = 16  # channels or frames
SAMPLES_OF_A_CHANNEL = 3  # to read off its scale and offset
MASKS_TRIED = 8  # of each side, as what is inverted

# --- costs: of explanations that hold, the least assumed is reported ------------------------------
OP_LEFT_OUT = 0.01  # each operation more
OTHER_SOURCE = 0.5  # an operation that is missing is the simpler explanation
SCALED_INPUT = 0.7  # of a temperature: the input's scale is reported in its place
PLAIN_REDUCTION = 0.5  # a hand-written softmax or norm is more than the sum in it
OF_A_DISTRIBUTION = -0.5  # reported in place of the activation that it is too
LOGITS_COST = -0.7  # what is taken for them says more than that softmax is taken twice
OF_A_SECOND_SOFTMAX = -0.6  # the exponential, or the logarithm, in it is less than all of it
REARRANGED_BEFORE = 0.75  # an axis of the operation that reads it is the simpler explanation
INDEX_COST = -0.6  # it is less than all of an input in another order, which gives the same
CHANNELS_COST = 3.0  # blocks in another order may be gates, which say more
STARTS_TRIED = 64  # of a part of a weight
EXCHANGED = -0.5  # with all of a sum in view it is less than a term that is missing in a part
MASK_INVERTED = 3.0  # an operation that is missing is the simpler explanation
STEPS_OF_A_LOOP = 3  # two operations of a line may be two of its terms
NEARLY_ONE_STEP = 0.01  # of what steps hold

# --- formulas -------------------------------------------------------------------------------------
CHARACTERS_OF_A_FORMULA = 160  # a longer one says less than the lines of code
OPS_OF_A_FORMULA = 96  # of either side: a loop has as many for each turn
FORMULAS_TRIED = 48  # as the part of the candidate's that is another
FILLS_TRIED = 16  # tensors of one number, each with a number of the other side
ELEMENTS_READ = 1_000_000  # of a value of which each element's place is followed
TABLES_OF_ANGLES = 4096  # elements of a table that may hold cosines
