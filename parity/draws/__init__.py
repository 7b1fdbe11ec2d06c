"""Random draws: what they are drawn from, and how those of two models are paired.

draw       the description of one draw, in one vocabulary for all frameworks
families   distributions with known parameters: probabilities, quantiles, samples
fused      kernels that fuse a draw and a transform, separated into a draw and what is made of it
host       draws by NumPy, inside models of any framework
pairing    which of the reference's draws is substituted for which of the candidate's
repeated   draws that give the same samples again, which are one
settled    draws that a fixed seed makes constants
stacked    draws in a loop that the other model makes at once, which are one draw that is cut
units      the draws that lead to outputs, and what is made of noise alone
"""
