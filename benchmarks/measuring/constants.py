"""How long and how often things are measured, each with its reason.

Modules import those that they use by name, so tests shorten them where they are used.
"""

from __future__ import annotations

# A candidate is near-optimal if it takes at most so much longer than the best one, as a share.
NEAR_OPTIMAL = 0.05
# Candidates that a queue is drawn from: enough for the shares of pipelines to be those of their
# sizes, and drawn, described and ordered in seconds.
POOL_SIZE = 100_000
# Candidates of a run without any limit: about 35 seconds on two cores, for a product of matrices.
DEFAULT_BUDGET = 64

# Screening ----------------------------------------------------------------------------------------
# The fewest runs that make a time.
MIN_RUNS = 3
# What seems to be slow is timed for so long at least: another process's turn on a core takes 3 to
# 12 ms, in which a kernel of 30 us is run three times and more.
GIVE_UP_SECONDS = 0.015
# What takes less on a GPU is timed by a function that repeats it: of what takes longer, the time
# between call and answer is no more than 3 %.
REPEATED_US = 2_000.0
# Long enough that its noise (about 5 %) is below what separates candidates, short enough that a
# candidate costs less than compiling it. Finalists are measured again.
SCREEN_SECONDS = 0.08
# Of the baseline, before each few candidates.
BASELINE_SECONDS = 0.1
# Of the baseline, once at the start: it is what people are told.
FIRST_BASELINE_SECONDS = 0.25
# A candidate this much slower than the best is not worth more than its first runs.
GIVE_UP_RATIO = 2.0
# Candidates that are compiled before any of them is measured, for each compile worker.
BATCH_PER_JOB = 4
# The baseline is measured once for so many candidates: meanwhile it does not drift far.
BATCH_PER_DEVICE = 8

# Finals -------------------------------------------------------------------------------------------
# Candidates that may be the best, by the spread of screening, and how many of them are finalists.
MAX_CONTENDERS = 32
MAX_FINALISTS = 5
# Finalists that are measured in rounds of their own, one after the other, until one holds.
MAX_TRIED = 3
# What a ratio is off by (a standard deviation) where nothing in the run tells of more.
SCREEN_NOISE = 0.05
# Standard errors: with as many, a candidate that another one seems to beat may still be the best.
CONTENDER_ERRORS = 3.0
# Seconds of heats, and of a turn in them: 200 turns. A turn of a slow kernel is `MIN_RUNS`.
HEATS_SECONDS = 5.0
HEAT_TURN = 0.025
# Rounds of heats before any contender is left out.
LEAST_HEATS = 4
# Seconds of the winner's own rounds, and of a turn in them: 20 rounds of three turns.
FINALS_SECONDS = 2.4
FINALS_TURN = 0.04
# The fewest rounds of which an interval holds 95 %.
LEAST_ROUNDS = 6
# Where the default differs from itself by more, there are more rounds, for so many seconds.
NOISY = 0.10
NOISY_SECONDS = 12.0

# Recordings ---------------------------------------------------------------------------------------
# Rounds of every candidate that is not hopeless, and of those that may be this near the best.
RECORD_ROUNDS = 3
REMEASURE_RATIO = 1.15
# On a shared machine of two cores, kernels of 80 and 200 us, as medians of n measurements against n
# others: 8 are 5.5 % apart, 20 are 2.5 %. Near-optimal means within 5 %.
NEAR_ROUNDS = 40
# A candidate may still be near-optimal if its time less so many standard errors is near the best
# one's time plus as many.
DOUBT_STANDARD_ERRORS = 2.0
# Many short measurements say more than few long ones: of the spread between measurements of 40 ms,
# each the 10th percentile of hundreds of runs, a third is left within one.
RECORD_SECONDS = 0.015
# Candidates of one block: half a second, in which a machine has not drifted far.
BLOCK_SIZE = 16

# Whole models -------------------------------------------------------------------------------------
# Rounds of a race, and seconds of a turn: a turn of a slow model is one run.
RACE_ROUNDS = 15
TURN_SECONDS = 0.3
# A model that takes seconds has fewer rounds than are asked for: as many as take so long, and at
# least so many, of which the interval of a median is the least and the greatest.
RACE_SECONDS = 60.0
LEAST_RACE_ROUNDS = 6
# Seconds for further rounds, where what is faster is not so beyond noise yet: of MobileNet's 34 ms,
# 15 rounds tell a ratio to 15 %, and four times as many to half of that.
RACE_PATIENCE = 60.0
# Rounds of profiles, by which configurations of a dispatch are compared in the model.
PROFILE_ROUNDS = 7
# Seconds of a profile, whose least times count: of 0.2 and 0.4 s they spread by 3.5 and 3.1 %
# (BERT, tuned), 4.2 and 2.8 % (Whisper), 15 and 14 % (RegNet, in a busy minute; two cores of Zen
# 4). Compiling the next candidates takes seconds.
PROFILE_SECONDS = 0.4
# Rounds in which the model is compared with itself without one of the dispatches' configurations,
# or with other options: the 95 % interval leaves out one on each side (of 7 it would be the least
# and the greatest), and on a busy machine one in ten is twice as slow.
DROP_ROUNDS = 9

# Profiles of dispatches, and the machine ----------------------------------------------------------
# Seconds that a generated dispatch is timed.
DISPATCH_SECONDS = 0.2
# Seconds that the machine's peak is looked for, of arithmetic and of memory each.
PEAK_SECONDS = 1.0
