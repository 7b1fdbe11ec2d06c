"""LightGCN as a tf.Module: the normalised rating matrix is kept sparse, users and items apart."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N_USERS, N_ITEMS, WIDTH, HOPS = 14, 19, 12, 3


def rating_pairs():
    rng = np.random.default_rng(5)
    seen = rng.random((N_USERS, N_ITEMS)) < 0.25
    seen[np.arange(N_USERS), np.arange(N_USERS)] = True
    seen[rng.integers(0, N_USERS, N_ITEMS), np.arange(N_ITEMS)] = True
    return np.argwhere(seen)


class LightGCN(tf.Module):
    def __init__(self, pairs, seed=0):
        super().__init__()
        g = tf.random.Generator.from_seed(seed)
        self.user_table = tf.Variable(g.normal((N_USERS, WIDTH)) * 0.1)
        self.item_table = tf.Variable(g.normal((N_ITEMS, WIDTH)) * 0.1)
        self.user_offset = tf.Variable(g.normal((N_USERS,)) * 0.1)
        self.item_offset = tf.Variable(g.normal((N_ITEMS,)) * 0.1)
        self.pairs = tf.constant(pairs, tf.int64)
        self.per_user = tf.constant(np.bincount(pairs[:, 0], minlength=N_USERS), tf.float32)
        self.per_item = tf.constant(np.bincount(pairs[:, 1], minlength=N_ITEMS), tf.float32)

    def ratings(self):
        du = tf.gather(self.per_user, self.pairs[:, 0])
        di = tf.gather(self.per_item, self.pairs[:, 1])
        weights = 1.0 / tf.sqrt(du * di)
        return tf.SparseTensor(self.pairs, weights, (N_USERS, N_ITEMS))

    def smooth(self):
        r = self.ratings()
        users, items = self.user_table, self.item_table
        all_users, all_items = [users], [items]
        for _ in range(HOPS):
            new_users = tf.sparse.sparse_dense_matmul(r, items)
            new_items = tf.sparse.sparse_dense_matmul(r, users, adjoint_a=True)
            users, items = new_users, new_items
            all_users.append(users)
            all_items.append(items)
        return tf.add_n(all_users) / len(all_users), tf.add_n(all_items) / len(all_items)

    def __call__(self, users, candidates):
        user_vectors, item_vectors = self.smooth()
        u = tf.gather(user_vectors, users)
        v = tf.gather(item_vectors, candidates)
        scores = tf.einsum("bd,bkd->bk", u, v)
        scores += tf.gather(self.user_offset, users)[:, None]
        scores += tf.gather(self.item_offset, candidates)
        return scores, tf.nn.log_softmax(scores)


def make():
    return LightGCN(rating_pairs(), seed=3)


def inputs(seed):
    rng = np.random.default_rng(seed)
    users = rng.permutation(N_USERS)[:6]
    items = np.stack([rng.permutation(N_ITEMS)[:7] for _ in range(6)])
    return users.astype("int64"), items.astype("int64")


def load(ported, original):
    w = {k: v.detach().numpy() for k, v in original.named_parameters()}
    ported.user_table.assign(w["user.weight"])
    ported.item_table.assign(w["item.weight"])
    ported.user_offset.assign(w["user_bias.weight"][:, 0])
    ported.item_offset.assign(w["item_bias.weight"][:, 0])
