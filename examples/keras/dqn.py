"""Deep Q-learning in a small world: a network learns from its own steps to walk around walls to the
goal.

The update is the whole of DQN: a target network that follows slowly, the value of the best next
action, Huber's loss of the action that was taken, one tape, Adam. It is compiled; the world is a
few lines of NumPy.
"""

import numpy as np

import gradtape as tf
from gradtape import keras

layers = keras.layers

WORLD = [
    "S.#..",
    "..#.#",
    ".##..",
    ".....",
    "##.#G",
]
ACTIONS = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)])  # up, right, down, left
DISCOUNT = 0.95
PATIENCE = 40  # steps of an episode
BATCH = 64

GRID = np.array([list(row) for row in WORLD])
FREE = np.argwhere(GRID != "#")
START, GOAL = (tuple(np.argwhere(GRID == sign)[0]) for sign in "SG")


def step(place, action):
    """Where an action leads (nowhere at a wall or the edge), its reward, and whether it ends."""
    target = tuple(np.add(place, ACTIONS[action]))
    inside = all(0 <= i < size for i, size in zip(target, GRID.shape, strict=True))
    arrived = target if inside and GRID[target] != "#" else place
    return arrived, 1.0 if arrived == GOAL else -0.02, arrived == GOAL


def seen(place):
    """What the network sees of a place: a one among zeros."""
    grid = np.zeros(GRID.shape, "float32")
    grid[place] = 1.0
    return grid.ravel()


def build():
    return keras.Sequential(
        [keras.Input((GRID.size,)), layers.Dense(64, activation="relu"), layers.Dense(len(ACTIONS))]
    )


def make_update(network, target, optimizer):
    huber = keras.losses.Huber()

    @tf.function
    def update(states, actions, rewards, next_states, done):
        best = tf.reduce_max(target(next_states), axis=1)
        wanted = rewards + DISCOUNT * (1.0 - done) * best
        with tf.GradientTape() as tape:
            values = tf.gather(network(states), actions, axis=1, batch_dims=1)
            loss = huber(wanted, values)
        gradients = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
        for slow, fast in zip(target.variables, network.variables, strict=True):
            slow.assign_add(0.02 * (fast - slow))
        return loss

    return update


def train(episodes, rng):
    """A network that has walked many times, from places chosen at random."""
    network, target = build(), build()
    target.set_weights(network.get_weights())
    update = make_update(network, target, keras.optimizers.Adam(2e-3))
    memory = []
    for episode in range(episodes):
        place = tuple(FREE[rng.integers(len(FREE))])
        curiosity = max(0.1, 1.0 - episode / (0.6 * episodes))
        for _ in range(PATIENCE):
            if place == GOAL:
                break
            tries = rng.random() < curiosity
            action = rng.integers(len(ACTIONS)) if tries else best_action(network, place)
            arrived, reward, done = step(place, action)
            memory.append(
                (seen(place), np.int32(action), np.float32(reward), seen(arrived), np.float32(done))
            )
            place = arrived
            if len(memory) >= 4 * BATCH:
                chosen = [
                    memory[i] for i in rng.integers(max(0, len(memory) - 5000), len(memory), BATCH)
                ]
                update(*(tf.constant(np.stack(column)) for column in zip(*chosen, strict=True)))
    return network


def best_action(network, place):
    return int(tf.argmax(network(seen(place)[None])[0]))


def walk(network, place=START):
    """The places that the network goes through, until the goal or until patience ends."""
    path = [place]
    while path[-1] != GOAL and len(path) <= PATIENCE:
        path.append(step(path[-1], best_action(network, path[-1]))[0])
    return path


def main():
    keras.utils.set_random_seed(0)
    network = train(150, np.random.default_rng(0))
    path = walk(network)
    picture = GRID.copy()
    for place in path[1:-1]:
        picture[place] = "*"
    print("\n".join("".join(row) for row in picture))
    end = "the goal is reached" if path[-1] == GOAL else "the goal is not reached"
    print(f"{end} after {len(path) - 1} steps")
    arrives = [walk(network, tuple(place))[-1] == GOAL for place in FREE]
    print(f"it is reached from {sum(arrives)} of {len(arrives)} places")


if __name__ == "__main__":
    main()
